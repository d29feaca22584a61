variable "campaigns" {
  description = "Rows of a CSV file. An empty load leaves the load of an imported card alone; an empty top_up_below means no top-up. Keep the label if you rename a campaign."
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
  description = "BIN to issue the cards on. Changing it replaces every card."
  type        = string
  default     = "bin_ads_visa_us"
}
