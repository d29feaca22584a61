package webhook_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/tfsdk"
	"github.com/hashicorp/terraform-plugin-go/tftypes"

	"github.com/vcard/terraform-provider-vcard/internal/api"
	"github.com/vcard/terraform-provider-vcard/internal/contract"
	"github.com/vcard/terraform-provider-vcard/internal/session"
	"github.com/vcard/terraform-provider-vcard/internal/webhook"
)

// impatient waits no time.
type impatient struct{}

func (impatient) Now() time.Time { return time.Now() }

func (impatient) Wait(ctx context.Context, _ time.Duration) error { return ctx.Err() }

// TestLostResponse registers an endpoint with a service that loses its first response.
func TestLostResponse(t *testing.T) {
	t.Parallel()
	var calls atomic.Int64
	service := httptest.NewServer(contract.Handler(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		if calls.Add(1) == 1 {
			panic(http.ErrAbortHandler)
		}
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusCreated)
		_, _ = w.Write([]byte(`{"id":"wh_2","url":"https://hooks.example.com/","events":["*"],"secret":"whsec_2","created_at":"2026-03-01T00:00:00Z"}`))
	})))
	t.Cleanup(service.Close)
	client, err := api.New(api.Config{BaseURL: service.URL + "/api/v1", APIKey: "sk_live_test", Clock: impatient{}, MaxRetries: 1})
	if err != nil {
		t.Fatal(err)
	}

	r, ok := webhook.NewResource().(interface {
		resource.ResourceWithConfigure
		resource.ResourceWithIdentity
	})
	if !ok {
		t.Fatal("the resource takes no configuration or has no identity")
	}
	ctx := t.Context()
	r.Configure(ctx, resource.ConfigureRequest{ProviderData: session.New(client)}, &resource.ConfigureResponse{})
	var schema resource.SchemaResponse
	r.Schema(ctx, resource.SchemaRequest{}, &schema)
	var identity resource.IdentitySchemaResponse
	r.IdentitySchema(ctx, resource.IdentitySchemaRequest{}, &identity)
	shape := schema.Schema.Type().TerraformType(ctx)
	block := func(computed any) tftypes.Value {
		return tftypes.NewValue(shape, map[string]tftypes.Value{
			"id":                tftypes.NewValue(tftypes.String, computed),
			"url":               tftypes.NewValue(tftypes.String, "https://hooks.example.com/"),
			"events":            tftypes.NewValue(tftypes.Set{ElementType: tftypes.String}, []tftypes.Value{tftypes.NewValue(tftypes.String, "*")}),
			"secret":            tftypes.NewValue(tftypes.String, computed),
			"secret_wo":         tftypes.NewValue(tftypes.String, nil),
			"secret_wo_version": tftypes.NewValue(tftypes.Number, nil),
			"created_at":        tftypes.NewValue(tftypes.String, computed),
		})
	}
	resp := resource.CreateResponse{
		State: tfsdk.State{Schema: schema.Schema, Raw: tftypes.NewValue(shape, nil)},
		Identity: &tfsdk.ResourceIdentity{
			Schema: identity.IdentitySchema,
			Raw:    tftypes.NewValue(identity.IdentitySchema.Type().TerraformType(ctx), nil),
		},
	}
	r.Create(ctx, resource.CreateRequest{
		Config: tfsdk.Config{Schema: schema.Schema, Raw: block(nil)},
		Plan:   tfsdk.Plan{Schema: schema.Schema, Raw: block(tftypes.UnknownValue)},
	}, &resp)

	if resp.Diagnostics.HasError() || resp.Diagnostics.WarningsCount() != 1 {
		t.Fatalf("a lost response says %v", resp.Diagnostics)
	}
	for _, want := range []string{"wh_2", "lost", "second endpoint at hooks.example.com", "dashboard"} {
		if text := resp.Diagnostics[0].Summary() + ": " + resp.Diagnostics[0].Detail(); !strings.Contains(text, want) {
			t.Errorf("the warning lacks %q: %s", want, text)
		}
	}
}
