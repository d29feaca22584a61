import {
  to = vcard_webhook.spend
  id = "wh_9f2c"
}
