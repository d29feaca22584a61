import {
  provider = vcard # only while the configuration is generated; take it out then
  to       = vcard_card.search
  id       = "card_4f7rz8k2m9xq3w6e5t1y0u2i"
}
