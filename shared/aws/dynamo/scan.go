package dynamo

import (
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	sdk "github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/bobbin-agent/bobbin/shared/table"
)

// query translates the scan; false if it can't find anything.
//
// DynamoDB takes one condition on the sort key, and only text in it, so that an upper end "just above the prefix" can't
// always be said. The prefix or the end goes into the condition, After into the start key, which need not exist but must
// lie within the condition.
func query(q table.Query) (*sdk.QueryInput, bool) {
	input := &sdk.QueryInput{ConsistentRead: aws.Bool(true), ScanIndexForward: aws.Bool(!q.Desc)}
	input.Limit = aws.Int32(table.MaxScan)
	if q.Limit > 0 {
		input.Limit = aws.Int32(int32(q.Limit)) //nolint:gosec // at most table.MaxScan
	}
	if !start(input, q) || (ends(q) && q.Until <= max(q.Prefix, q.After)) {
		return nil, false
	}
	values := attributes{":p": text(q.Partition)}
	cond := "p = :p"
	switch {
	case ends(q) && q.Prefix == "":
		cond += " AND s < :until"
		values[":until"] = text(q.Until)
	case ends(q) && strings.HasPrefix(q.Until, q.Prefix): // BETWEEN includes its end, which page drops
		cond += " AND s BETWEEN :prefix AND :until"
		values[":prefix"], values[":until"] = text(q.Prefix), text(q.Until)
	case q.Prefix != "":
		cond += " AND begins_with(s, :prefix)"
		values[":prefix"] = text(q.Prefix)
	}
	input.KeyConditionExpression, input.ExpressionAttributeValues = &cond, values
	return input, true
}

// ends reports whether the scan has an end of its own.
func ends(q table.Query) bool { return !q.Desc && q.Until != "" }

// start sets where the scan starts; false if that is past everything with the prefix.
func start(input *sdk.QueryInput, q table.Query) bool {
	switch within := strings.HasPrefix(q.After, q.Prefix); {
	case q.After == "":
	case within:
		input.ExclusiveStartKey = keyOf(table.Key{Partition: q.Partition, Sort: q.After})
	default:
		return (q.After < q.Prefix) != q.Desc // from before it upwards, or from above it downwards: all of it
	}
	return true
}

func page(q table.Query, out *sdk.QueryOutput) (table.Page, error) {
	p := table.Page{Items: make([]table.Item, 0, len(out.Items)), Next: textOf(out.LastEvaluatedKey["s"])}
	for _, a := range out.Items {
		it, err := item(a)
		if err != nil {
			return table.Page{}, err
		}
		if ends(q) && it.Key.Sort >= q.Until {
			p.Next = ""
			break
		}
		p.Items = append(p.Items, *it)
	}
	return p, nil
}
