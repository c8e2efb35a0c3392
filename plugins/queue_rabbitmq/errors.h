// What rabbitmq-c and the broker say, as errors of ours.
//
// Threads:  plain functions.
#pragma once

#include <string>

#include <amqp.h>

#include "sluice/result.h"

#include "shared.h"

namespace sluice::rabbitmq {

// AMQP reply codes that mean something to us.
inline constexpr std::uint16_t kAccessRefused = 403;
inline constexpr std::uint16_t kNotFound = 404;
inline constexpr std::uint16_t kResourceLocked = 405;
inline constexpr std::uint16_t kPreconditionFailed = 406;

[[nodiscard]] std::string textOf(const amqp_bytes_t& bytes);
// The broker refused with this AMQP code. Misconfigured where only an operator can help.
[[nodiscard]] Error refusedBy(const Settings& settings, std::uint16_t code, const std::string& text);
[[nodiscard]] Error libraryError(const Settings& settings, int status);
// The outcome of a call that waited for its reply.
[[nodiscard]] Status statusOf(const Settings& settings, const amqp_rpc_reply_t& reply);
// As statusOf; a connection that the broker ends during log-in means that it does not know the user.
[[nodiscard]] Status loginStatus(const Settings& settings, const amqp_rpc_reply_t& reply);

}  // namespace sluice::rabbitmq
