variable "campaigns" {
  description = "Rows with campaign, load, top_up_below and top_up_to, as a CSV file has them; an empty top_up_below means no top-up."
  type = list(object({
    campaign     = string
    load         = string
    top_up_below = string
    top_up_to    = string
  }))
}

variable "paused" {
  description = "Campaigns whose cards are frozen."
  type        = set(string)
  default     = []
}

variable "category" {
  description = "Category of the BIN that the cards are issued on."
  type        = string
  default     = "ads"
}
