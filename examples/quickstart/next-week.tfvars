# Next week: more for search, less for social, and display takes a break.
campaigns = {
  search  = { amount = 400 }
  social  = { amount = 90.50 }
  display = { amount = 75.25, paused = true }
}
