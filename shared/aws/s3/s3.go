// Package s3 is the object store on S3: one bucket, the names of objects as keys.
//
// Put is a conditional PutObject, so that S3 itself refuses to overwrite. Without the permission to list the bucket, S3
// answers a read of a missing object with "access denied", which is ErrRefused here, not ErrNotFound.
package s3

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	sdk "github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/smithy-go"
	smithyhttp "github.com/aws/smithy-go/transport/http"

	"github.com/bobbin-agent/bobbin/shared/blob"
	"github.com/bobbin-agent/bobbin/shared/pause"
)

// Patience with another upload of the same name under way: about half a second in all.
const (
	conflictAttempts = 6
	conflictPause    = 20 * time.Millisecond // at most, doubled each time
)

// callWithin bounds one call, the SDK's own retries and the reading of the answer included. S3 answers within a tenth of
// a second, and what is kept here is small.
const callWithin = 10 * time.Second

// Blob is a blob.Blob.
type Blob struct {
	api    api
	bucket string
}

var _ blob.Blob = (*Blob)(nil)

// api is what Blob needs of S3's client.
type api interface {
	DeleteObject(context.Context, *sdk.DeleteObjectInput, ...func(*sdk.Options)) (*sdk.DeleteObjectOutput, error)
	GetObject(context.Context, *sdk.GetObjectInput, ...func(*sdk.Options)) (*sdk.GetObjectOutput, error)
	ListObjectsV2(context.Context, *sdk.ListObjectsV2Input, ...func(*sdk.Options)) (*sdk.ListObjectsV2Output, error)
	PutObject(context.Context, *sdk.PutObjectInput, ...func(*sdk.Options)) (*sdk.PutObjectOutput, error)
}

// New makes the store of the bucket of that name, which must be there.
func New(cfg aws.Config, bucket string) *Blob { return &Blob{api: Client(cfg), bucket: bucket} }

// Client makes the SDK's client. At an endpoint of one's own, a bucket is part of the path: only AWS has a host name for
// each.
func Client(cfg aws.Config) *sdk.Client {
	return sdk.NewFromConfig(cfg, func(o *sdk.Options) { o.UsePathStyle = o.BaseEndpoint != nil })
}

// Put is blob.Blob's.
func (b *Blob) Put(ctx context.Context, name string, body []byte) error {
	if err := blob.CheckName(name); err != nil {
		return err
	}
	for attempt := 0; ; attempt++ {
		err := b.put(ctx, name, body)
		switch {
		case err == nil:
			return nil
		case status(err) == http.StatusPreconditionFailed:
			return fmt.Errorf("putting %s: %w", name, blob.ErrExists)
		case status(err) != http.StatusConflict || attempt == conflictAttempts-1 || !pause.UpTo(ctx, conflictPause<<attempt):
			return fmt.Errorf("putting %s: %w: %w", name, blob.ErrRefused, err)
		}
	}
}

func (b *Blob) put(ctx context.Context, name string, body []byte) error {
	ctx, cancel := context.WithTimeout(ctx, callWithin)
	defer cancel()
	_, err := b.api.PutObject(ctx, &sdk.PutObjectInput{
		Bucket: &b.bucket, Key: &name, Body: bytes.NewReader(body), IfNoneMatch: aws.String("*"),
	})
	return err
}

// Get is blob.Blob's.
func (b *Blob) Get(ctx context.Context, name string) ([]byte, error) { return b.get(ctx, name, nil) }

// GetRange is blob.Blob's.
func (b *Blob) GetRange(ctx context.Context, name string, offset, length int64) ([]byte, error) {
	if offset < 0 || length < 0 {
		return nil, fmt.Errorf("%w: %d bytes from %d", blob.ErrInvalid, length, offset)
	}
	last := offset + max(length, 1) - 1 // S3 has no empty range; one byte also shows whether the object is there
	if last < offset {
		last = math.MaxInt64
	}
	body, err := b.get(ctx, name, aws.String(fmt.Sprintf("bytes=%d-%d", offset, last)))
	if status(err) == http.StatusRequestedRangeNotSatisfiable {
		return nil, nil // it ends before the range begins
	}
	return body[:min(int64(len(body)), length)], err
}

func (b *Blob) get(ctx context.Context, name string, part *string) ([]byte, error) {
	if err := blob.CheckName(name); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, callWithin)
	defer cancel()
	out, err := b.api.GetObject(ctx, &sdk.GetObjectInput{Bucket: &b.bucket, Key: &name, Range: part})
	if err != nil {
		return nil, fmt.Errorf("getting %s: %w", name, failed(err))
	}
	defer out.Body.Close()
	body := bytes.NewBuffer(make([]byte, 0, aws.ToInt64(out.ContentLength)+bytes.MinRead))
	if _, err := io.Copy(body, out.Body); err != nil {
		return nil, fmt.Errorf("getting %s: %w: %w", name, blob.ErrRefused, err)
	}
	return body.Bytes(), nil
}

// List is blob.Blob's.
func (b *Blob) List(ctx context.Context, prefix, after string) (blob.Page, error) {
	input := &sdk.ListObjectsV2Input{Bucket: &b.bucket, Prefix: &prefix}
	if after != "" {
		input.StartAfter = &after
	}
	ctx, cancel := context.WithTimeout(ctx, callWithin)
	defer cancel()
	out, err := b.api.ListObjectsV2(ctx, input)
	if err != nil {
		return blob.Page{}, fmt.Errorf("listing %s: %w", prefix, failed(err))
	}
	var p blob.Page
	for i := range out.Contents {
		o := &out.Contents[i]
		p.Objects = append(p.Objects, blob.Info{Name: aws.ToString(o.Key), Size: aws.ToInt64(o.Size)})
	}
	if aws.ToBool(out.IsTruncated) && len(p.Objects) > 0 {
		p.Next = p.Objects[len(p.Objects)-1].Name
	}
	return p, nil
}

// Delete is blob.Blob's.
func (b *Blob) Delete(ctx context.Context, name string) error {
	if err := blob.CheckName(name); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, callWithin)
	defer cancel()
	if _, err := b.api.DeleteObject(ctx, &sdk.DeleteObjectInput{Bucket: &b.bucket, Key: &name}); err != nil {
		return fmt.Errorf("deleting %s: %w", name, failed(err))
	}
	return nil
}

// failed says what a failed request means to the seam.
func failed(err error) error {
	if answer, ok := errors.AsType[smithy.APIError](err); ok && answer.ErrorCode() == "NoSuchKey" {
		return fmt.Errorf("%w: %w", blob.ErrNotFound, err)
	}
	return fmt.Errorf("%w: %w", blob.ErrRefused, err)
}

// status is the status code that S3 answered with; 0 if it did not answer.
func status(err error) int {
	if answer, ok := errors.AsType[*smithyhttp.ResponseError](err); ok {
		return answer.HTTPStatusCode()
	}
	return 0
}
