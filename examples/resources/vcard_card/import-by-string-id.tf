import {
  to = vcard_card.search
  id = "card_4f7rz8k2m9xq3w6e5t1y0u2i"

  # To have Terraform write the resource, add this line, and remove it afterwards:
  # provider = vcard
}
