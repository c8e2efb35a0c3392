// See errors.h.
#include "errors.h"

#include <amqp_framing.h>

namespace sluice::rabbitmq {

namespace {

bool isForOperators(std::uint16_t code) noexcept {
  constexpr std::uint16_t kNotAllowed = 530;  // no such vhost, or no access to it
  return code == kAccessRefused || code == kPreconditionFailed || code == kNotAllowed;
}

}  // namespace

std::string textOf(const amqp_bytes_t& bytes) {
  return bytes.len == 0 ? std::string() : std::string(static_cast<const char*>(bytes.bytes), bytes.len);
}

Error refusedBy(const Settings& settings, std::uint16_t code, const std::string& text) {
  const ErrorCode ours = isForOperators(code)      ? ErrorCode::Misconfigured
                         : code == kNotFound       ? ErrorCode::NotFound
                         : code == kResourceLocked ? ErrorCode::Conflict
                                                   : ErrorCode::Unavailable;
  return {ours, settings.text() + " refuses: " + text};
}

Error libraryError(const Settings& settings, int status) {
  return {ErrorCode::Unavailable, settings.text() + ": " + amqp_error_string2(status)};
}

Status statusOf(const Settings& settings, const amqp_rpc_reply_t& reply) {
  if (reply.reply_type == AMQP_RESPONSE_NORMAL) return {};
  if (reply.reply_type != AMQP_RESPONSE_SERVER_EXCEPTION) {
    return libraryError(
        settings, reply.reply_type == AMQP_RESPONSE_NONE ? AMQP_STATUS_SOCKET_ERROR : reply.library_error);
  }
  if (reply.reply.id == AMQP_CHANNEL_CLOSE_METHOD) {
    const auto* closed = static_cast<const amqp_channel_close_t*>(reply.reply.decoded);
    return refusedBy(settings, closed->reply_code, textOf(closed->reply_text));
  }
  if (reply.reply.id == AMQP_CONNECTION_CLOSE_METHOD) {
    const auto* closed = static_cast<const amqp_connection_close_t*>(reply.reply.decoded);
    return refusedBy(settings, closed->reply_code, textOf(closed->reply_text));
  }
  return {ErrorCode::Unavailable, settings.text() + ": an answer that was not expected"};
}

Status loginStatus(const Settings& settings, const amqp_rpc_reply_t& reply) {
  Status status = statusOf(settings, reply);
  const bool refused = !status && status.error().code == ErrorCode::Misconfigured;
  return refused ? Error{ErrorCode::Misconfigured, status.error().text + " (user " + settings.user +
                                                       "; see queue.rabbitmq.user, .password, .vhost)"}
                 : status;
}

}  // namespace sluice::rabbitmq
