package dsh

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"

	"github.com/klauspost/compress/zstd"
)

// Facts of the zstd frame format (RFC 8878, section 3.1.1).
const (
	frameMagic     = 0xFD2FB528
	maxFrameHead   = 4 + 1 + 1 + 4 + 8
	blockHead      = 3
	blockRLE       = 1
	blockReserved  = 3
	checksumBytes  = 4
	descriptorFlag = 4 // offset of the descriptor byte
)

// maxWindow bounds the memory that one frame can ask of the decoder. The
// writer's own frames stay at or below 2 MiB.
const maxWindow = 32 << 20

// frame is where a frame ends.
type frame struct {
	end    int64  // offset behind it
	torn   bool   // the file ends inside it
	reason string // why there is no frame here; ""
}

// scanFrame finds the border of the frame at an offset by its block headers,
// without decompressing it. An error is a failure to read the file.
func scanFrame(f io.ReaderAt, at, size int64) (frame, error) {
	head := make([]byte, min(maxFrameHead, size-at))
	if _, err := f.ReadAt(head, at); err != nil && !errors.Is(err, io.EOF) {
		return frame{}, err
	}
	var magic [4]byte
	binary.LittleEndian.PutUint32(magic[:], frameMagic)
	for i := range min(len(head), len(magic)) {
		if head[i] != magic[i] {
			return frame{reason: "there is no zstd frame where one should start"}, nil
		}
	}
	if len(head) <= descriptorFlag {
		return frame{torn: true}, nil
	}
	descriptor := head[descriptorFlag]
	single := descriptor&0x20 != 0
	switch {
	case descriptor&0x18 != 0:
		return frame{reason: "a zstd frame sets a reserved bit"}, nil
	case descriptor&0x03 != 0:
		return frame{reason: "a zstd frame needs a dictionary"}, nil
	}
	length := int64(descriptorFlag + 1)
	if !single {
		length++
	}
	switch descriptor >> 6 {
	case 0:
		if single {
			length++
		}
	case 1:
		length += 2
	case 2:
		length += 4
	case 3:
		length += 8
	}
	tail := int64(0)
	if descriptor&checksumFlag != 0 {
		tail = checksumBytes
	}
	return scanBlocks(f, at+length, size, tail)
}

func scanBlocks(f io.ReaderAt, at, size, tail int64) (frame, error) {
	var buf [4 << 10]byte
	have, start := 0, at // buf holds have bytes of the file from start
	for {
		if at+blockHead > size {
			return frame{torn: true}, nil
		}
		if at+blockHead > start+int64(have) {
			n, err := f.ReadAt(buf[:min(int64(len(buf)), size-at)], at)
			if err != nil && !errors.Is(err, io.EOF) {
				return frame{}, err
			}
			if n < blockHead {
				return frame{torn: true}, nil // the file has been cut since its size was taken
			}
			have, start = n, at
		}
		b := buf[at-start:]
		word := uint32(b[0]) | uint32(b[1])<<8 | uint32(b[2])<<16
		payload := int64(word >> 3)
		switch word >> 1 & 3 {
		case blockRLE:
			payload = 1
		case blockReserved:
			return frame{reason: "a zstd frame holds a block of a reserved kind"}, nil
		}
		at += blockHead + payload
		if word&1 != 0 {
			at += tail
			return frame{end: at, torn: at > size}, nil
		}
	}
}

// checksumFlag is the bit of a frame's descriptor that announces a checksum.
const checksumFlag = 0x04

// frameText is the decoded text of a frame, as a stream: it is never held whole.
type frameText struct{ dec *zstd.Decoder }

func newFrameText() (*frameText, error) {
	dec, err := zstd.NewReader(nil,
		zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true), zstd.WithDecoderMaxWindow(maxWindow))
	return &frameText{dec}, err
}

// reset begins the frame between two offsets. Of a torn one, the text of its
// whole blocks is given; the decoder must not wait for the checksum then.
func (t *frameText) reset(f io.ReaderAt, from, to int64, torn bool) error {
	if !torn {
		return t.dec.Reset(io.NewSectionReader(f, from, to-from))
	}
	head := make([]byte, descriptorFlag+1)
	if _, err := f.ReadAt(head, from); err != nil {
		return err
	}
	head[descriptorFlag] &^= checksumFlag
	rest := io.NewSectionReader(f, from+int64(len(head)), to-from-int64(len(head)))
	return t.dec.Reset(io.MultiReader(bytes.NewReader(head), rest))
}

// Read implements io.Reader. The checksum of a whole frame is verified before
// io.EOF.
func (t *frameText) Read(p []byte) (int, error) { return t.dec.Read(p) }

// Close releases the decoder.
func (t *frameText) Close() { t.dec.Close() }
