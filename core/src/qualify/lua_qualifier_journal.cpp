// The calls of the forwarder: its lease.
#include "sluice/limits.h"

#include "qualify/lua_qualifier.h"
#include "qualify/lua_qualifier_calls.h"

namespace sluice {

namespace {

Status checkOwner(const std::string& owner) {
  if (!owner.empty() && owner.size() <= limits::kOwnerBytesMax) return {};
  return {ErrorCode::InvalidArgument,
          "an owner has 1 to " + std::to_string(limits::kOwnerBytesMax) + " bytes"};
}

}  // namespace

Result<Lead> LuaQualifier::lead(const std::string& owner, milliseconds lease, Deadline deadline) {
  if (Status sound = checkOwner(owner); !sound) return sound.error();
  if (lease.count() < 1) return {ErrorCode::InvalidArgument, "a lease lasts a millisecond or longer"};
  const std::string key = keys_.other("forwarder");
  const auto reply = eval(scripts_.lead, {key}, {owner, std::to_string(lease.count())}, deadline);
  if (!reply) return reply.error().during("take the forwarder's lease");
  const RedisValue answer = reply.value().value();
  if (answer.size() != 2) return {ErrorCode::Corrupt, std::string(answer[0].text())};
  const std::string_view word = answer[0].text();
  return Lead{word != "other", word == "taken", std::string(answer[1].text())};
}

Status LuaQualifier::resign(const std::string& owner, Deadline deadline) {
  if (Status sound = checkOwner(owner); !sound) return sound;
  const std::string key = keys_.other("forwarder");
  const auto reply = eval(scripts_.resign, {key}, {owner}, deadline);
  if (!reply) return reply.error().during("give the forwarder's lease up");
  const RedisValue answer = reply.value().value();
  if (answer.isArray()) return {ErrorCode::Corrupt, std::string(answer[0].text())};
  return {};
}

}  // namespace sluice
