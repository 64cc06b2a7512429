package remote

import "context"

func (s *Session) openOCI(ctx context.Context, r Reference, v Version, from Origin) (*Content, error) {
	return nil, nil
}
func (s *Session) resolveOCI(ctx context.Context, r Reference, from Origin) (Version, error) {
	return Version{}, nil
}
