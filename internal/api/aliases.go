package api

import (
	"github.com/vcard/terraform-provider-vcard/internal/api/transport"
)

// What callers of the endpoints see of the way of a call.
type (
	// Config says which service a client talks to, as whom, and how patiently.
	Config = transport.Config
	// ConfigError says which field of a Config breaks which rule.
	ConfigError = transport.ConfigError
	// Exchange describes one attempt of one request.
	Exchange = transport.Exchange
	// Clock tells the time and waits.
	Clock = transport.Clock
	// Limits are the numbers of requests that a client keeps to.
	Limits = transport.Limits

	// Secret is text that is shown to nobody by accident.
	Secret = transport.Secret
	// Word is one of some words, such as a network.
	Word = transport.Word
	// Name is that of a merchant.
	Name = transport.Name
	// Label is that of a card.
	Label = transport.Label
	// Line is any other text, such as an address.
	Line = transport.Line
	// Timestamp is a time in RFC 3339.
	Timestamp = transport.Timestamp

	// Error is a response of the service that is not a success.
	Error = transport.Error
	// RequestError is a request without a usable response.
	RequestError = transport.RequestError
	// ProxyError is a request's failure on its way through a proxy.
	ProxyError = transport.ProxyError
	// ShapeError says that a response is not what the service's document describes.
	ShapeError = transport.ShapeError
	// OutageError is a failure that every other call would meet as well.
	OutageError = transport.OutageError
	// UndecidedError says that a call may or may not have taken effect.
	UndecidedError = transport.UndecidedError
)

// What callers tell apart, as it is in transport.
const (
	SandboxKeyPrefix      = transport.SandboxKeyPrefix
	FieldBaseURL          = transport.FieldBaseURL
	FieldAPIKey           = transport.FieldAPIKey
	DefaultRequestTimeout = transport.DefaultRequestTimeout
	DefaultMaxRetries     = transport.DefaultMaxRetries

	OutageKeyRefused  = transport.OutageKeyRefused
	OutageNotReady    = transport.OutageNotReady
	OutageUnreachable = transport.OutageUnreachable
	OutageUnavailable = transport.OutageUnavailable
	OutageEndpoint    = transport.OutageEndpoint
	OutageOtherServer = transport.OutageOtherServer

	MutationIssue     = transport.MutationIssue
	MutationMove      = transport.MutationMove
	MutationSetFrozen = transport.MutationSetFrozen
	MutationTerminate = transport.MutationTerminate
	MutationRegister  = transport.MutationRegister
)

// IsID reports whether a text can be the id of an object of the service.
func IsID(text string) bool { return transport.IsID(text) }

// IsNotFound reports a 404 or 410 in the service's own words, which is no proof.
func IsNotFound(err error) bool { return transport.IsNotFound(err) }
