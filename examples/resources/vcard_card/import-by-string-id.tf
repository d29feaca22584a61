import {
  to = vcard_card.search
  id = "card_4f7rz8k2m9xq3w6e5t1y0u2i"

  # Where Terraform is to write the resource, name the provider too, or it looks for
  # hashicorp/vcard. Take the line out when the resource is there.
  # provider = vcard
}
