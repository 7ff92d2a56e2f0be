//! Messages of protocol buffers, written: `ModelProto` of onnx/onnx.proto, whose field numbers stand where they are used.

/// A message, or part of one.
#[derive(Default)]
pub(crate) struct Message(Vec<u8>);

impl Message {
    pub(crate) fn number(mut self, field: u64, value: i64) -> Message {
        self.varint(field << 3);
        self.varint(value as u64);
        self
    }

    pub(crate) fn float(mut self, field: u64, value: f32) -> Message {
        self.varint((field << 3) | 5);
        self.0.extend(value.to_le_bytes());
        self
    }

    pub(crate) fn bytes(self, field: u64, bytes: &[u8]) -> Message {
        let mut message = self.head(field, bytes.len() as u64);
        message.0.extend(bytes);
        message
    }

    /// The head of a field whose `length` bytes follow.
    pub(crate) fn head(mut self, field: u64, length: u64) -> Message {
        self.varint((field << 3) | 2);
        self.varint(length);
        self
    }

    pub(crate) fn text(self, field: u64, text: &str) -> Message {
        self.bytes(field, text.as_bytes())
    }

    pub(crate) fn message(self, field: u64, message: &Message) -> Message {
        self.bytes(field, &message.0)
    }

    pub(crate) fn into_bytes(self) -> Vec<u8> {
        self.0
    }

    pub(crate) fn len(&self) -> u64 {
        self.0.len() as u64
    }

    fn varint(&mut self, mut value: u64) {
        while value > 0x7f {
            self.0.push(value as u8 | 0x80);
            value >>= 7;
        }
        self.0.push(value as u8);
    }
}
