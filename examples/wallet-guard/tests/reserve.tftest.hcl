# terraform test: what the guard allows and refuses, on a sandbox of its own.
provider "vcard" {
  wallet_check = "error"

  sandbox = {
    path            = "wallet-guard-test.db"
    initial_balance = 2000
  }
}

run "pays_for_what_keeps_the_reserve" {
  assert {
    condition     = output.left == 2000 - 250 - 120.5 - 75.25 - 3
    error_message = "${output.left} USD are left in the wallet."
  }
}

run "refuses_to_touch_the_reserve" {
  command = plan

  variables {
    campaigns = {
      search  = 250
      social  = 120.50
      display = 75.25
      launch  = 1200 # the wallet can pay for it, and 500 USD are to stay
    }
  }

  expect_failures = [data.vcard_wallet_balance.now]
}

run "stops_nothing_that_issues_no_card" {
  command = plan

  variables {
    reserve   = 5000
    next_week = []
  }

  expect_failures = [check.next_week] # which is a warning
}

run "warns_of_next_week" {
  command = plan

  variables {
    next_week = [600, 600]
  }

  expect_failures = [check.next_week]
}

run "lets_a_smaller_reserve_be_spent" {
  variables {
    reserve = 100
    campaigns = {
      search  = 250
      social  = 120.50
      display = 75.25
      launch  = 1200
    }
    next_week = []
  }

  assert {
    condition     = output.spendable == 2000 - 250 - 120.5 - 75.25 - 1200 - 4 - 100
    error_message = "${output.spendable} USD may still be spent."
  }
}
