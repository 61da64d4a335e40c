package query

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"fmt"

	"github.com/yorehq/yore/fault"
)

// A cursor is an offset, bound by a keyed hash to the normalized request and,
// beside it, to the generations of the shards that answered. It cannot be
// forged, used for another request, or used after the history has changed.
const (
	offsetBytes = 8
	stateBytes  = 16
	sealBytes   = 16
)

// seal makes the cursor of a request's page that begins at offset.
func (e *Engine) seal(request any, state [sha256.Size]byte, offset int) (string, error) {
	plain := make([]byte, offsetBytes, offsetBytes+stateBytes+sealBytes)
	binary.LittleEndian.PutUint64(plain, uint64(offset))
	plain = append(plain, state[:stateBytes]...)
	mac, err := e.mac(request, plain)
	if err != nil {
		return "", err
	}
	return base64.RawURLEncoding.EncodeToString(append(plain, mac...)), nil
}

// open checks a cursor against the request it is given with and returns its offset.
func (e *Engine) open(cursor string, request any, state [sha256.Size]byte) (int, error) {
	if cursor == "" {
		return 0, nil
	}
	raw, err := base64.RawURLEncoding.DecodeString(cursor)
	// Base64 has several spellings of the same bytes; only ours is a cursor.
	if err != nil || len(raw) != offsetBytes+stateBytes+sealBytes || base64.RawURLEncoding.EncodeToString(raw) != cursor {
		return 0, fmt.Errorf("%w: not a cursor", fault.InvalidCursor)
	}
	plain, seal := raw[:offsetBytes+stateBytes], raw[offsetBytes+stateBytes:]
	want, err := e.mac(request, plain)
	if err != nil {
		return 0, err
	}
	if !hmac.Equal(seal, want) {
		return 0, fmt.Errorf("%w: not a cursor of this request", fault.InvalidCursor)
	}
	if string(plain[offsetBytes:]) != string(state[:stateBytes]) {
		return 0, fmt.Errorf("%w: the history changed", fault.StaleCursor)
	}
	return int(binary.LittleEndian.Uint64(plain)), nil
}

func (e *Engine) mac(request any, plain []byte) ([]byte, error) {
	normal, err := json.Marshal(request)
	if err != nil {
		return nil, err
	}
	h := hmac.New(sha256.New, e.secret)
	h.Write(plain)
	h.Write(normal)
	return h.Sum(nil)[:sealBytes], nil
}

// checkLimit checks a page size.
func checkLimit(limit int) error {
	if limit < 1 || limit > MaxLimit {
		return fault.New(fault.InvalidLimit, "limit is %d: want between 1 and %d", limit, MaxLimit)
	}
	return nil
}
