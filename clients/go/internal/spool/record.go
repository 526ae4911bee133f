package spool

import (
	"bytes"
	"encoding/binary"
	"hash/crc32"
)

// A record is a mark, the length of its body, a sum of length and body, and the body.
var mark = []byte("kts1")

const (
	lengthAt = 4
	sumAt    = 8
	header   = 12
)

// Encode makes a record of a body.
func Encode(body []byte) []byte {
	record := make([]byte, header, header+len(body))
	copy(record, mark)
	binary.LittleEndian.PutUint32(record[lengthAt:], uint32(len(body)))
	record = append(record, body...)
	binary.LittleEndian.PutUint32(record[sumAt:], sum(record))
	return record
}

func sum(record []byte) uint32 {
	return crc32.Update(crc32.ChecksumIEEE(record[lengthAt:sumAt]), crc32.IEEETable, record[header:])
}

// recordAt is the body of the record that begins there; false when there is none.
func recordAt(data []byte, offset int) ([]byte, bool) {
	if offset < 0 || offset+header > len(data) || !bytes.HasPrefix(data[offset:], mark) {
		return nil, false
	}
	length := int64(binary.LittleEndian.Uint32(data[offset+lengthAt:]))
	end := int64(offset) + header + length
	if end > int64(len(data)) {
		return nil, false
	}
	record := data[offset:end]
	if sum(record) != binary.LittleEndian.Uint32(record[sumAt:]) {
		return nil, false
	}
	return record[header:], true
}

// hasRecordAfter is whether a whole record begins anywhere from the offset on.
func hasRecordAfter(data []byte, offset int) bool {
	for offset < len(data) {
		next := bytes.Index(data[offset:], mark)
		if next < 0 {
			return false
		}
		if _, ok := recordAt(data, offset+next); ok {
			return true
		}
		offset += next + 1
	}
	return false
}
