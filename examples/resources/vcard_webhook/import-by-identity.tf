import {
  to = vcard_webhook.audit

  identity = {
    id = "wh_9f2c"
  }
}
