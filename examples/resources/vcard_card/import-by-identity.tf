import {
  provider = vcard # needed to generate the configuration
  to       = vcard_card.search
  identity = {
    id = "card_4f7rz8k2m9xq3w6e5t1y0u2i"
  }
}
