import {
  to = vcard_webhook.spend
  identity = {
    id = "wh_9f2c"
  }
}
