package dynamo

import (
	"errors"
	"fmt"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/smithy-go"

	"github.com/bobbin-agent/bobbin/shared/table"
)

// readFailed says what a failed read means to the seam.
func readFailed(err error) error {
	if code(err) == "ValidationException" {
		return fmt.Errorf("%w: %w", table.ErrInvalid, err)
	}
	return fmt.Errorf("%w: %w", table.ErrRefused, err)
}

// outcome says what DynamoDB's answer to one sending of the write means to the seam, and whether the table is busy, so
// that sending again soon is worth it.
func outcome(w table.Write, err error) (_ error, busy bool) {
	var failed *types.ConditionalCheckFailedException
	var cancelled *types.TransactionCanceledException
	switch {
	case err == nil:
		return nil, false
	case errors.As(err, &failed):
		return conditionFailed(w, []refusal{{item: failed.Item}}), false
	case errors.As(err, &cancelled):
		return cancellation(w, cancelled)
	}
	switch code(err) {
	case "ValidationException", "IdempotentParameterMismatchException":
		return fmt.Errorf("%w: %w", table.ErrInvalid, err), false
	case "TransactionInProgressException": // an earlier sending of this write, which may yet be applied
		return fmt.Errorf("%w: %w", table.ErrUnknown, err), true
	case "TransactionConflictException", "ReplicatedWriteConflictException", "ProvisionedThroughputExceededException",
		"RequestLimitExceeded", "ThrottlingException":
		return fmt.Errorf("%w: %w", table.ErrRefused, err), true
	}
	if answer, ok := errors.AsType[smithy.APIError](err); ok && answer.ErrorFault() == smithy.FaultClient {
		return fmt.Errorf("%w: %w", table.ErrRefused, err), false
	}
	return fmt.Errorf("%w: %w", table.ErrUnknown, err), false // its fault, or no answer at all
}

// code is DynamoDB's name for the error; "" if it did not answer.
func code(err error) string {
	if answer, ok := errors.AsType[smithy.APIError](err); ok {
		return answer.ErrorCode()
	}
	return ""
}

// refusal is a condition that did not hold.
type refusal struct {
	index int
	item  attributes
}

// cancellation says why a transaction did not happen. One condition that did not hold decides, whatever else was in the
// way; conflicts and throttling alone pass.
func cancellation(w table.Write, err *types.TransactionCanceledException) (_ error, busy bool) {
	var refusals []refusal
	invalid := false
	busy = true
	for i, reason := range err.CancellationReasons {
		switch aws.ToString(reason.Code) {
		case "", "None", "TransactionConflict", "ThrottlingError", "ProvisionedThroughputExceeded":
		case "ConditionalCheckFailed":
			refusals = append(refusals, refusal{i, reason.Item})
		case "ValidationError":
			invalid = true
		default:
			busy = false
		}
	}
	switch {
	case invalid:
		return fmt.Errorf("%w: %w", table.ErrInvalid, err), false
	case refusals != nil:
		return conditionFailed(w, refusals), false
	}
	return fmt.Errorf("%w: %w", table.ErrRefused, err), busy
}

// conditionFailed is the seam's answer; nil if the records show that an earlier sending was applied.
func conditionFailed(w table.Write, refusals []refusal) error {
	e := &table.ConditionError{}
	for _, r := range refusals {
		it, err := item(r.item)
		if err != nil {
			return fmt.Errorf("%w: %w", table.ErrRefused, err)
		}
		e.Failed = append(e.Failed, table.Failed{Index: r.index, Item: it})
	}
	if w.Ours(e) {
		return nil
	}
	return e
}
