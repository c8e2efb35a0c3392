// See message.h.
#include "message.h"

#include <charconv>
#include <cstring>

#include "errors.h"

namespace sluice::rabbitmq {

namespace {

constexpr const char* kDeliveries = "sluice-deliveries";
constexpr const char* kFailures = "sluice-failures";
constexpr const char* kWait = "sluice-wait-ms";
constexpr const char* kEnqueued = "sluice-enqueued-ms";
constexpr const char* kDeadAt = "sluice-dead-at-ms";
constexpr const char* kReason = "sluice-reason";
constexpr const char* kJournal = "sluice-journal";
// The broker's own: times that a message of a quorum queue came back.
constexpr const char* kReturned = "x-delivery-count";

amqp_bytes_t view(const std::string& text) {
  // The library takes a pointer to data that it does not change.
  return {text.size(), const_cast<char*>(text.data())};  // NOLINT(cppcoreguidelines-pro-type-const-cast)
}

std::int64_t numberOf(const amqp_field_value_t& value) {
  switch (value.kind) {
    case AMQP_FIELD_KIND_I8:
      return value.value.i8;
    case AMQP_FIELD_KIND_U8:
      return value.value.u8;
    case AMQP_FIELD_KIND_I16:
      return value.value.i16;
    case AMQP_FIELD_KIND_U16:
      return value.value.u16;
    case AMQP_FIELD_KIND_I32:
      return value.value.i32;
    case AMQP_FIELD_KIND_U32:
      return value.value.u32;
    case AMQP_FIELD_KIND_I64:
      return value.value.i64;
    default:
      return 0;
  }
}

// Whoever publishes by hand may write anything here.
std::int64_t countOf(const amqp_field_value_t& value) {
  constexpr std::int64_t kMost = 1'000'000'000;
  return std::clamp<std::int64_t>(numberOf(value), 0, kMost);
}

void readHeader(const amqp_table_entry_t& header, Message& message) {
  const std::string name = textOf(header.key);
  if (name == kDeliveries) message.deliveries = countOf(header.value);
  if (name == kFailures) message.failures = countOf(header.value);
  if (name == kWait) message.waitMs = std::min<std::int64_t>(countOf(header.value), kDelayMax.count());
  if (name == kEnqueued) message.enqueuedMs = numberOf(header.value);
  if (name == kDeadAt) message.deadAtMs = numberOf(header.value);
  if (name == kReturned) message.returned = countOf(header.value);
  if (header.value.kind != AMQP_FIELD_KIND_UTF8) return;
  if (name == kReason) message.reason = textOf(header.value.value.bytes);
  if (name == kJournal)
    message.journal = parseJournalId(textOf(header.value.value.bytes)).value_or(JournalId());
}

}  // namespace

Message again(const Message& message, std::int64_t counted) {
  return {.bytes = message.bytes,
          .journal = message.journal,
          .deliveries = counted,
          .failures = message.failures,
          .enqueuedMs = message.enqueuedMs};
}

Properties::Properties(const Message& message, std::uint64_t sequence)
    : sequence_(std::to_string(sequence)), journal_(message.journal.valid() ? message.journal.text() : "") {
  if (!journal_.empty()) add(kJournal, journal_);
  if (message.deliveries > 0) add(kDeliveries, message.deliveries);
  if (message.failures > 0) add(kFailures, message.failures);
  if (message.waitMs > 0) add(kWait, message.waitMs);
  if (message.enqueuedMs > 0) add(kEnqueued, message.enqueuedMs);
  if (message.deadAtMs > 0) {
    add(kDeadAt, message.deadAtMs);
    add(kReason, message.reason);
  }
  properties_._flags =
      AMQP_BASIC_DELIVERY_MODE_FLAG | AMQP_BASIC_CORRELATION_ID_FLAG | AMQP_BASIC_HEADERS_FLAG;
  properties_.delivery_mode = AMQP_DELIVERY_PERSISTENT;
  properties_.correlation_id = view(sequence_);
  properties_.headers = {static_cast<int>(headers_.size()), headers_.data()};
  if (message.id.empty()) return;
  properties_._flags |= AMQP_BASIC_MESSAGE_ID_FLAG;
  properties_.message_id = view(message.id);
}

void Properties::add(const char* name, std::int64_t value) {
  amqp_field_value_t number{};
  number.kind = AMQP_FIELD_KIND_I64;
  number.value.i64 = value;
  headers_.push_back({amqp_cstring_bytes(name), number});
}

void Properties::add(const char* name, const std::string& text) {
  amqp_field_value_t value{};
  value.kind = AMQP_FIELD_KIND_UTF8;
  value.value.bytes = view(text);
  headers_.push_back({amqp_cstring_bytes(name), value});
}

void readProperties(const amqp_basic_properties_t& properties, bool redelivered, Message& message) {
  if ((properties._flags & AMQP_BASIC_HEADERS_FLAG) != 0) {
    for (int k = 0; k < properties.headers.num_entries; ++k)
      readHeader(properties.headers.entries[k], message);
  }
  if ((properties._flags & AMQP_BASIC_MESSAGE_ID_FLAG) != 0) message.id = textOf(properties.message_id);
  // A classic queue says only that it came back, not how often. A message that comes out of a wait queue may
  // bring a count along that is not of the queue it is in.
  message.returned = redelivered ? std::max<std::int64_t>(message.returned, 1) : 0;
}

std::uint64_t sequenceOf(const amqp_basic_properties_t& properties) {
  if ((properties._flags & AMQP_BASIC_CORRELATION_ID_FLAG) == 0) return 0;
  const std::string digits = textOf(properties.correlation_id);
  std::uint64_t sequence = 0;
  std::from_chars(digits.data(), digits.data() + digits.size(), sequence);
  return sequence;
}

}  // namespace sluice::rabbitmq
