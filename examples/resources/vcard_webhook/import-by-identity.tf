import {
  provider = vcard # only while the configuration is generated; take it out then
  to       = vcard_webhook.spend
  identity = {
    id = "wh_9f2c"
  }
}
