# The service cannot show an endpoint, so the id is not verified. The next plan
# adopts the configured values and sends nothing.
terraform import vcard_webhook.spend wh_9f2c
