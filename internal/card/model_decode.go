package card

import (
	"context"
	"reflect"
	"sync"

	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/attr/xattr"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-go/tftypes"
)

// decode reads a configuration, a plan or a state, and nothing where it is null.
// It does what the framework's Get does, which a plan of many cards calls more
// often than anything else, and which compiles a regular expression for every
// attribute, every time.
func decode(ctx context.Context, raw tftypes.Value, into *model, diags *diag.Diagnostics) {
	if raw.IsNull() {
		return
	}
	var values map[string]tftypes.Value
	if err := raw.As(&values); err != nil {
		diags.AddError("Unreadable card", err.Error())
		return
	}
	decoded := reflect.ValueOf(into).Elem()
	for i, attribute := range modelAttributes() {
		at := path.Root(attribute.name)
		value, err := attribute.valueType.ValueFromTerraform(ctx, values[attribute.name])
		if err != nil {
			diags.AddAttributeError(at, "Unreadable card", err.Error())
			continue
		}
		if checked, ok := value.(xattr.ValidateableAttribute); ok {
			var resp xattr.ValidateAttributeResponse
			checked.ValidateAttribute(ctx, xattr.ValidateAttributeRequest{Path: at}, &resp)
			diags.Append(resp.Diagnostics...)
		}
		decoded.Field(i).Set(reflect.ValueOf(value))
	}
}

// modelAttribute is the attribute that a field of model holds.
type modelAttribute struct {
	name      string
	valueType attr.Type
}

// modelAttributes are in the order of the fields.
var modelAttributes = sync.OnceValue(func() []modelAttribute {
	var declared resource.SchemaResponse
	(&cardResource{}).Schema(context.Background(), resource.SchemaRequest{}, &declared)
	fields := reflect.TypeFor[model]()
	attributes := make([]modelAttribute, fields.NumField())
	for i := range attributes {
		name := fields.Field(i).Tag.Get("tfsdk")
		attributes[i] = modelAttribute{name, declared.Schema.Attributes[name].GetType()}
	}
	return attributes
})
