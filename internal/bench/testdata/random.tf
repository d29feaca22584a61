variable "fleet" {
  type = number
}

resource "random_id" "fleet" {
  count       = var.fleet
  byte_length = 8
}
