package io.keyturn.client.internal.produce;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.util.zip.CRC32;

/**
 * Records of a segment: a mark of four bytes, the length of the body, the CRC-32 of length and body, the body. All numbers are
 * little-endian. The mark lets the reader find out whether anything follows a place that it cannot read.
 */
final class SpoolRecord {
    static final int HEADER = 12;

    private static final byte[] MARK = "KtR1".getBytes(StandardCharsets.ISO_8859_1);
    private static final int LENGTH_AT = 4;
    private static final int CRC_AT = 8;

    private SpoolRecord() {}

    static byte[] encode(byte[] body) {
        ByteBuffer record = ByteBuffer.allocate(HEADER + body.length).order(ByteOrder.LITTLE_ENDIAN);
        record.put(MARK).putInt(body.length).putInt(0).put(body);
        record.putInt(CRC_AT, sum(record.array(), 0, body.length));
        return record.array();
    }

    /** The body of the record that begins at the offset; null when there is none. */
    static byte[] at(byte[] bytes, int offset) {
        int length = lengthAt(bytes, offset);
        if (length < 0) return null;
        byte[] body = new byte[length];
        System.arraycopy(bytes, offset + HEADER, body, 0, length);
        return body;
    }

    /** Of the body of the record that begins at the offset; negative when there is none. */
    static int lengthAt(byte[] bytes, int offset) {
        if (offset < 0 || offset > bytes.length - HEADER || !hasMark(bytes, offset)) return -1;
        ByteBuffer header = ByteBuffer.wrap(bytes, offset, HEADER).order(ByteOrder.LITTLE_ENDIAN);
        int length = header.getInt(offset + LENGTH_AT);
        if (length < 0 || length > bytes.length - offset - HEADER) return -1;
        return sum(bytes, offset, length) == header.getInt(offset + CRC_AT) ? length : -1;
    }

    /** Whether a whole record begins anywhere from the offset on. */
    static boolean isAnyFrom(byte[] bytes, int offset) {
        for (int at = offset; at <= bytes.length - HEADER; at++) if (lengthAt(bytes, at) >= 0) return true;
        return false;
    }

    private static boolean hasMark(byte[] bytes, int offset) {
        for (int at = 0; at < MARK.length; at++) if (bytes[offset + at] != MARK[at]) return false;
        return true;
    }

    /** Over the length too: a length that changed would hide what follows. */
    private static int sum(byte[] bytes, int offset, int length) {
        CRC32 crc = new CRC32();
        crc.update(bytes, offset + LENGTH_AT, CRC_AT - LENGTH_AT);
        crc.update(bytes, offset + HEADER, length);
        return (int) crc.getValue();
    }
}
