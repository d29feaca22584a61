package provider

import (
	"context"

	"github.com/hashicorp/terraform-plugin-go/tfprotov6"
	"github.com/hashicorp/terraform-plugin-go/tftypes"
)

// GenerateResourceConfig leaves out what is false. A card stays as it is without
// frozen = false, and with it the next plan undoes what somebody froze in an emergency.
func (s server) GenerateResourceConfig(ctx context.Context, req *tfprotov6.GenerateResourceConfigRequest) (*tfprotov6.GenerateResourceConfigResponse, error) {
	return handle(ctx, s, req, func(ctx context.Context, req *tfprotov6.GenerateResourceConfigRequest) (*tfprotov6.GenerateResourceConfigResponse, error) {
		response, err := s.framework.GenerateResourceConfig(ctx, req)
		if err != nil || response.Config == nil {
			return response, err
		}
		schemas, err := s.framework.GetProviderSchema(ctx, &tfprotov6.GetProviderSchemaRequest{})
		if err != nil {
			return nil, err
		}
		of := schemas.ResourceSchemas[req.TypeName].ValueType()
		config, err := response.Config.Unmarshal(of)
		if err != nil {
			return nil, err
		}
		no := tftypes.NewValue(tftypes.Bool, false)
		config, err = tftypes.Transform(config, func(_ *tftypes.AttributePath, value tftypes.Value) (tftypes.Value, error) {
			if value.Equal(no) {
				return tftypes.NewValue(tftypes.Bool, nil), nil
			}
			return value, nil
		})
		if err != nil {
			return nil, err
		}
		written, err := tfprotov6.NewDynamicValue(of, config)
		response.Config = &written
		return response, err
	})
}
