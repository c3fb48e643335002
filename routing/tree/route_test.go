package tree

import (
	"context"

	"ibsm/routing"
)

// Route is the engine without settings.
func Route(ctx context.Context, in routing.In) (*routing.Tables, error) {
	return (&Settings{}).route(ctx, in)
}
