package webhook

import (
	"context"

	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/resource"
)

// ValidateConfig checks which ways to give a secret go together.
func (r *webhookResource) ValidateConfig(ctx context.Context, req resource.ValidateConfigRequest, resp *resource.ValidateConfigResponse) {
	var config model
	resp.Diagnostics.Append(req.Config.Get(ctx, &config)...)
	if resp.Diagnostics.HasError() {
		return
	}
	switch {
	case written(config.Secret) && written(config.SecretWO):
		resp.Diagnostics.AddAttributeError(path.Root("secret_wo"), "Two secrets",
			"secret and secret_wo exclude each other: an endpoint signs with one secret. Keep secret_wo to keep it out of the state, or secret to have it there.")
	case written(config.SecretWO) && config.SecretWOVersion.IsNull():
		resp.Diagnostics.AddAttributeError(path.Root("secret_wo_version"), "A write-only secret without its version",
			"secret_wo needs secret_wo_version, for example 1: Terraform keeps no write-only value, so a change of the secret shows only in its version.")
	case written(config.SecretWOVersion) && config.SecretWO.IsNull():
		resp.Diagnostics.AddAttributeError(path.Root("secret_wo"), "A version without its write-only secret",
			"secret_wo_version needs secret_wo, the secret whose version it is. Set secret_wo, or take out secret_wo_version.")
	}
}

// written reports whether v is set for certain: what is unknown may turn out null.
func written(v attr.Value) bool { return !v.IsNull() && !v.IsUnknown() }
