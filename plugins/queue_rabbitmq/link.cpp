// See link.h.
#include "link.h"

#include <algorithm>

#include <amqp_ssl_socket.h>
#include <amqp_tcp_socket.h>
#include <poll.h>
#include <sys/socket.h>

#include "errors.h"

namespace sluice::rabbitmq {

namespace {

constexpr int kFrameMax = 131072;

timeval toTimeval(milliseconds time) {
  return {.tv_sec = time.count() / 1000, .tv_usec = (time.count() % 1000) * 1000};
}

timeval timeUntil(Deadline deadline) { return toTimeval(std::max(deadline.remaining(), milliseconds(1))); }

amqp_socket_t* newTlsSocket(amqp_connection_state_t connection, const TlsSettings& tls) {
  amqp_socket_t* socket = amqp_ssl_socket_new(connection);
  if (socket == nullptr) return nullptr;
  amqp_ssl_socket_set_verify_peer(socket, tls.verify ? 1 : 0);
  amqp_ssl_socket_set_verify_hostname(socket, tls.verify ? 1 : 0);
  amqp_ssl_socket_set_ssl_versions(socket, AMQP_TLSv1_2, AMQP_TLSvLATEST);
  const bool trusted =
      tls.authority.empty() || amqp_ssl_socket_set_cacert(socket, tls.authority.c_str()) == AMQP_STATUS_OK;
  const bool named = tls.certificate.empty() || amqp_ssl_socket_set_key(socket, tls.certificate.c_str(),
                                                                        tls.key.c_str()) == AMQP_STATUS_OK;
  return trusted && named ? socket : nullptr;
}

amqp_table_entry_t capability(const char* name) {
  amqp_field_value_t yes{};
  yes.kind = AMQP_FIELD_KIND_BOOLEAN;
  yes.value.boolean = 1;
  return {amqp_cstring_bytes(name), yes};
}

}  // namespace

Link::Link(const Settings& settings) : settings_(settings), connection_(amqp_new_connection()) {}

Link::~Link() {
  descriptor_ = -1;
  amqp_destroy_connection(connection_);
}

Status Link::open(Deadline deadline) {
  if (auto opened = openSocket(deadline); !opened) return opened;
  return logIn(deadline);
}

Status Link::openSocket(Deadline deadline) {
  amqp_socket_t* socket =
      settings_.tls.on ? newTlsSocket(connection_, settings_.tls) : amqp_tcp_socket_new(connection_);
  if (socket == nullptr) {
    return {ErrorCode::Misconfigured,
            "the files of queue.rabbitmq.tls.* cannot be used; is each a PEM file?"};
  }
  const timeval within = timeUntil(deadline);
  const int status = amqp_socket_open_noblock(socket, settings_.host.c_str(), settings_.port, &within);
  if (status == AMQP_STATUS_SSL_PEER_VERIFY_FAILED || status == AMQP_STATUS_SSL_HOSTNAME_VERIFY_FAILED)
    return {ErrorCode::Misconfigured, libraryError(settings_, status).text};
  if (status != AMQP_STATUS_OK) return libraryError(settings_, status);
  const int descriptor = amqp_socket_get_sockfd(socket);
  // Holds a whole window, see kWindowBytes.
  const int bytes = static_cast<int>(kWindowBytes * 2);
  ::setsockopt(descriptor, SOL_SOCKET, SO_SNDBUF, &bytes, sizeof bytes);
  descriptor_ = descriptor;
  if (aborted_) ::shutdown(descriptor, SHUT_RDWR);
  return {};
}

Status Link::logIn(Deadline deadline) {
  // The library itself announces neither; without them a deleted queue and a full broker are silent.
  std::array<amqp_table_entry_t, 4> capabilities = {
      capability("consumer_cancel_notify"), capability("connection.blocked"), capability("basic.nack"),
      capability("publisher_confirms")};
  std::array<amqp_table_entry_t, 2> properties{};
  properties[0].key = amqp_cstring_bytes("capabilities");
  properties[0].value.kind = AMQP_FIELD_KIND_TABLE;
  properties[0].value.value.table = {static_cast<int>(capabilities.size()), capabilities.data()};
  properties[1].key = amqp_cstring_bytes("connection_name");
  properties[1].value.kind = AMQP_FIELD_KIND_UTF8;
  properties[1].value.value.bytes = amqp_cstring_bytes("sluice");
  const amqp_table_t table = {static_cast<int>(properties.size()), properties.data()};
  const timeval within = timeUntil(deadline);
  amqp_set_handshake_timeout(connection_, &within);
  limitCalls(deadline);
  const amqp_rpc_reply_t reply = amqp_login_with_properties(
      connection_, settings_.vhost.c_str(), 0, kFrameMax, static_cast<int>(settings_.heartbeat.count()),
      &table, AMQP_SASL_METHOD_PLAIN, settings_.user.c_str(), settings_.password.c_str());
  return loginStatus(settings_, reply);
}

void Link::abort() noexcept {
  aborted_ = true;
  const int descriptor = descriptor_;
  if (descriptor >= 0) ::shutdown(descriptor, SHUT_RDWR);
}

void Link::closePolitely(milliseconds within) noexcept {
  limitCalls(Deadline::in(within));
  amqp_connection_close(connection_, AMQP_REPLY_SUCCESS);
}

void Link::limitCalls(Deadline deadline) noexcept {
  const timeval within = timeUntil(deadline);
  amqp_set_rpc_timeout(connection_, &within);
}

Status Link::lastCall() const { return statusOf(settings_, amqp_get_rpc_reply(connection_)); }

Status Link::openChannel(amqp_channel_t channel, Deadline deadline) {
  limitCalls(deadline);
  amqp_channel_open(connection_, channel);
  return lastCall();
}

Status Link::send(amqp_channel_t channel, amqp_method_number_t method, void* arguments) {
  const int status = amqp_send_method(connection_, channel, method, arguments);
  if (status != AMQP_STATUS_OK) return libraryError(settings_, status);
  return {};
}

Status Link::publish(amqp_channel_t channel, const std::string& exchange, const std::string& routingKey,
                     const Message& message, std::uint64_t sequence) {
  const Properties properties(message, sequence);
  // NOLINTNEXTLINE(cppcoreguidelines-pro-type-const-cast): the library does not change it
  const amqp_bytes_t body{message.bytes.size(), const_cast<char*>(message.bytes.data())};
  const int status = amqp_basic_publish(connection_, channel, amqp_cstring_bytes(exchange.c_str()),
                                        amqp_cstring_bytes(routingKey.c_str()), 1, 0, properties.get(), body);
  if (status != AMQP_STATUS_OK) return libraryError(settings_, status);
  return {};
}

Result<std::optional<Event>> Link::next() {
  while (true) {
    amqp_frame_t frame;
    const timeval none{};
    const int status = amqp_simple_wait_frame_noblock(connection_, &frame, &none);
    if (status == AMQP_STATUS_TIMEOUT) return std::optional<Event>();
    if (status != AMQP_STATUS_OK) return libraryError(settings_, status);
    auto event = onFrame(frame);
    amqp_maybe_release_buffers_on_channel(connection_, frame.channel);
    if (!event || event.value()) return event;
  }
}

Status Link::wait(int wakeUp, milliseconds atMost) {
  if (amqp_frames_enqueued(connection_) != 0 || amqp_data_in_buffer(connection_) != 0) return {};
  std::array<pollfd, 2> watched = {pollfd{descriptor_, POLLIN, 0}, pollfd{wakeUp, POLLIN, 0}};
  const nfds_t count = wakeUp < 0 ? 1 : 2;
  ::poll(watched.data(), count, static_cast<int>(atMost.count()));
  return {};
}

Result<Event> Link::await(Deadline deadline) {
  while (true) {
    auto event = next();
    if (!event) return event.error();
    if (event.value()) return *std::move(event).take();
    if (deadline.passed()) return {ErrorCode::Unavailable, settings_.text() + " does not answer"};
    (void)wait(-1, std::min<milliseconds>(deadline.remaining(), settings_.heartbeat / 3 + milliseconds(1)));
  }
}

Result<std::optional<Event>> Link::onFrame(const amqp_frame_t& frame) {
  if (frame.frame_type == AMQP_FRAME_METHOD) return onMethod(frame);
  return onContent(frame);
}

namespace {

template <typename T>
const T& argumentsOf(const amqp_frame_t& frame) {
  return *static_cast<const T*>(frame.payload.method.decoded);
}

Event confirmOf(const amqp_frame_t& frame, Event event) {
  if (frame.payload.method.id == AMQP_BASIC_ACK_METHOD) {
    event.kind = Event::Kind::Confirmed;
    event.tag = argumentsOf<amqp_basic_ack_t>(frame).delivery_tag;
    event.multiple = argumentsOf<amqp_basic_ack_t>(frame).multiple != 0;
  } else {
    event.kind = Event::Kind::Refused;
    event.tag = argumentsOf<amqp_basic_nack_t>(frame).delivery_tag;
    event.multiple = argumentsOf<amqp_basic_nack_t>(frame).multiple != 0;
  }
  return event;
}

Event::Kind simpleKind(amqp_method_number_t method) {
  switch (method) {
    case AMQP_BASIC_QOS_OK_METHOD:
      return Event::Kind::QosSet;
    case AMQP_BASIC_CONSUME_OK_METHOD:
      return Event::Kind::ConsumerThere;
    case AMQP_BASIC_CANCEL_OK_METHOD:
      return Event::Kind::CancelDone;
    case AMQP_BASIC_CANCEL_METHOD:
      return Event::Kind::Cancelled;
    case AMQP_CONNECTION_BLOCKED_METHOD:
      return Event::Kind::Blocked;
    case AMQP_CONNECTION_UNBLOCKED_METHOD:
      return Event::Kind::Unblocked;
    default:
      return Event::Kind::Other;
  }
}

}  // namespace

Result<std::optional<Event>> Link::onMethod(const amqp_frame_t& frame) {
  Event event;
  event.channel = frame.channel;
  switch (frame.payload.method.id) {
    case AMQP_BASIC_DELIVER_METHOD: {
      const auto& delivered = argumentsOf<amqp_basic_deliver_t>(frame);
      event.kind = Event::Kind::Delivered;
      event.tag = delivered.delivery_tag;
      contents_[frame.channel] = {.event = event, .redelivered = delivered.redelivered != 0};
      return std::optional<Event>();
    }
    case AMQP_BASIC_RETURN_METHOD:
      event.kind = Event::Kind::Returned;
      contents_[frame.channel] = {.event = event};
      return std::optional<Event>();
    case AMQP_BASIC_ACK_METHOD:
    case AMQP_BASIC_NACK_METHOD:
      return std::optional(confirmOf(frame, event));
    case AMQP_QUEUE_DECLARE_OK_METHOD:
      event.kind = Event::Kind::Counted;
      event.count = argumentsOf<amqp_queue_declare_ok_t>(frame).message_count;
      return std::optional(event);
    case AMQP_CHANNEL_CLOSE_METHOD: {
      const auto& closed = argumentsOf<amqp_channel_close_t>(frame);
      event.kind = Event::Kind::ChannelClosed;
      event.error = refusedBy(settings_, closed.reply_code, textOf(closed.reply_text));
      amqp_channel_close_ok_t agreed{};
      if (auto sent = send(frame.channel, AMQP_CHANNEL_CLOSE_OK_METHOD, &agreed); !sent) return sent.error();
      return std::optional(event);
    }
    case AMQP_CONNECTION_CLOSE_METHOD: {
      const auto& closed = argumentsOf<amqp_connection_close_t>(frame);
      const Error error = refusedBy(settings_, closed.reply_code, textOf(closed.reply_text));
      amqp_connection_close_ok_t agreed{};
      (void)send(0, AMQP_CONNECTION_CLOSE_OK_METHOD, &agreed);
      return Error{ErrorCode::Unavailable, error.text};
    }
    default:
      event.kind = simpleKind(frame.payload.method.id);
      return std::optional(event);
  }
}

std::optional<Event> Link::onContent(const amqp_frame_t& frame) {
  const auto found = contents_.find(frame.channel);
  if (found == contents_.end()) return std::nullopt;
  Content& content = found->second;
  if (frame.frame_type == AMQP_FRAME_HEADER) {
    content.left = frame.payload.properties.body_size;
    const auto& properties = *static_cast<const amqp_basic_properties_t*>(frame.payload.properties.decoded);
    readProperties(properties, content.redelivered, content.event.message);
    content.event.sequence = sequenceOf(properties);
  } else if (frame.frame_type == AMQP_FRAME_BODY) {
    const amqp_bytes_t& piece = frame.payload.body_fragment;
    std::string& bytes = content.event.message.bytes;
    // Of what does not decode a dead letter keeps so much; one byte more tells that it was cut.
    const std::size_t room = limits::kDeadBytesMax + 1 - std::min(bytes.size(), limits::kDeadBytesMax + 1);
    bytes.append(static_cast<const char*>(piece.bytes), std::min(piece.len, room));
    content.left -= std::min<std::uint64_t>(content.left, piece.len);
  }
  if (content.left > 0) return std::nullopt;
  Event whole = std::move(content.event);
  contents_.erase(found);
  return whole;
}

}  // namespace sluice::rabbitmq
