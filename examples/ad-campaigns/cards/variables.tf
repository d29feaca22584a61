variable "campaigns" {
  description = "Rows with campaign, load, top_up_below, top_up_to and label, as a CSV file has them; an empty top_up_below means no top-up. The label stays when a campaign is renamed."
  type = list(object({
    campaign     = string
    load         = string
    top_up_below = string
    top_up_to    = string
    label        = string
  }))
}

variable "paused" {
  description = "Campaigns whose cards are frozen."
  type        = set(string)
  default     = []
}

variable "bin_id" {
  description = "BIN that the cards are issued on. Another one replaces every card."
  type        = string
  default     = "bin_ads_visa_us"
}
