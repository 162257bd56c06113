package s3

import (
	"context"
	"errors"
	"io"
	"testing"
	"testing/synctest"
	"time"

	sdk "github.com/aws/aws-sdk-go-v2/service/s3"

	"github.com/bobbin-agent/bobbin/shared/blob"
)

// silent never answers; a read of it begins and falls silent if body is set.
type silent struct{ body bool }

func (silent) DeleteObject(ctx context.Context, _ *sdk.DeleteObjectInput, _ ...func(*sdk.Options)) (*sdk.DeleteObjectOutput, error) {
	<-ctx.Done()
	return nil, ctx.Err()
}

func (s silent) GetObject(ctx context.Context, _ *sdk.GetObjectInput, _ ...func(*sdk.Options)) (*sdk.GetObjectOutput, error) {
	if s.body {
		r, w := io.Pipe()
		context.AfterFunc(ctx, func() { _ = w.CloseWithError(ctx.Err()) })
		return &sdk.GetObjectOutput{Body: r}, nil
	}
	<-ctx.Done()
	return nil, ctx.Err()
}

func (silent) ListObjectsV2(ctx context.Context, _ *sdk.ListObjectsV2Input, _ ...func(*sdk.Options)) (*sdk.ListObjectsV2Output, error) {
	<-ctx.Done()
	return nil, ctx.Err()
}

func (silent) PutObject(ctx context.Context, _ *sdk.PutObjectInput, _ ...func(*sdk.Options)) (*sdk.PutObjectOutput, error) {
	<-ctx.Done()
	return nil, ctx.Err()
}

func TestAStoreThatNeverAnswersHasRefusedInTime(t *testing.T) {
	t.Parallel()
	get := func(ctx context.Context, b *Blob) error {
		_, err := b.Get(ctx, "a")
		return err
	}
	for name, c := range map[string]struct {
		api  silent
		call func(context.Context, *Blob) error
	}{
		"put":         {silent{}, func(ctx context.Context, b *Blob) error { return b.Put(ctx, "a", []byte("x")) }},
		"get":         {silent{}, get},
		"half a body": {silent{body: true}, get},
		"delete":      {silent{}, func(ctx context.Context, b *Blob) error { return b.Delete(ctx, "a") }},
		"list": {silent{}, func(ctx context.Context, b *Blob) error {
			_, err := b.List(ctx, "", "")
			return err
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				begun := time.Now()
				if err := c.call(t.Context(), &Blob{api: c.api}); !errors.Is(err, blob.ErrRefused) || time.Since(begun) != callWithin {
					t.Errorf("got %v after %v, want ErrRefused after %v", err, time.Since(begun), callWithin)
				}
			})
		})
	}
}
