# terraform test: on a sandbox of its own, which needs no account.
provider "vcard" {
  sandbox = {
    path = "webhooks-test.db"
  }
}

run "has_a_secret" {
  assert {
    condition     = startswith(output.signing_secret, "whsec_")
    error_message = "The service made no secret up."
  }
}

run "a_new_address_has_a_new_secret" {
  variables {
    url          = "https://hooks.example.com/cards/v2"
    old_endpoint = run.has_a_secret.endpoint
    old_secret   = run.has_a_secret.signing_secret
  }

  assert {
    condition     = output.endpoint != var.old_endpoint && output.signing_secret != var.old_secret
    error_message = "The endpoint is the old one."
  }
}
