import {
  provider = vcard # needed to generate the configuration
  to       = vcard_webhook.spend
  identity = {
    id = "wh_9f2c"
  }
}
