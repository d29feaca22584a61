# The service cannot show an endpoint. The id is taken as it is, and the next
# plan takes over the written configuration without sending anything.
terraform import vcard_webhook.spend wh_9f2c
