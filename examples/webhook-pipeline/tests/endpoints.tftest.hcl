# terraform test: on a sandbox of its own, with a secret that protects nothing.
provider "vcard" {
  sandbox = {
    path = "webhooks-test.db"
  }
}

variables {
  signing_secret = "a-secret-for-tests-alone"
}

run "registers_an_endpoint_for_each_purpose" {
  assert {
    condition     = length(distinct(values(output.endpoints))) == 2
    error_message = "There are other endpoints than one for each purpose."
  }

  assert {
    condition     = alltrue([for endpoint in vcard_webhook.endpoint : endpoint.secret == null])
    error_message = "The secret is in the state."
  }
}

run "a_new_secret_registers_new_endpoints" {
  variables {
    signing_secret         = "the-next-secret-for-tests"
    signing_secret_version = 2
    old_endpoints          = values(run.registers_an_endpoint_for_each_purpose.endpoints)
  }

  assert {
    condition     = length(setintersection(values(output.endpoints), var.old_endpoints)) == 0
    error_message = "An endpoint still signs with the old secret."
  }
}
