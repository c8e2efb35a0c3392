// Views of replies, and scripts with their digest.
#include <charconv>

#include <Poco/DigestEngine.h>
#include <Poco/SHA1Engine.h>
#include <hiredis/hiredis.h>

#include "sluice/redis.h"

namespace sluice {

RedisReply::RedisReply(redisReply* owned) noexcept : reply_(owned) {}

void RedisReply::Free::operator()(redisReply* reply) const noexcept { freeReplyObject(reply); }

bool RedisValue::isNil() const noexcept { return reply_ == nullptr || reply_->type == REDIS_REPLY_NIL; }
bool RedisValue::isInteger() const noexcept {
  return reply_ != nullptr && reply_->type == REDIS_REPLY_INTEGER;
}
bool RedisValue::isArray() const noexcept { return reply_ != nullptr && reply_->type == REDIS_REPLY_ARRAY; }
bool RedisValue::isError() const noexcept { return reply_ != nullptr && reply_->type == REDIS_REPLY_ERROR; }
bool RedisValue::isText() const noexcept {
  return reply_ != nullptr && (reply_->type == REDIS_REPLY_STRING || reply_->type == REDIS_REPLY_STATUS);
}

std::int64_t RedisValue::integer() const noexcept {
  if (isInteger()) return reply_->integer;
  std::int64_t number = 0;
  const std::string_view digits = text();
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), number);
  return error == std::errc() && end == digits.data() + digits.size() ? number : 0;
}

std::string_view RedisValue::text() const noexcept {
  return isText() || isError() ? std::string_view(reply_->str, static_cast<std::size_t>(reply_->len))
                               : std::string_view();
}

std::size_t RedisValue::size() const noexcept { return isArray() ? reply_->elements : 0; }

RedisValue RedisValue::operator[](std::size_t index) const noexcept {
  return index < size() ? RedisValue(reply_->element[index]) : RedisValue();
}

RedisScript::RedisScript(std::string name, std::string source)
    : name_(std::move(name)), source_(std::move(source)) {
  Poco::SHA1Engine engine;  // SHA-1 because Redis names scripts by it
  engine.update(source_);
  sha_ = Poco::DigestEngine::digestToHex(engine.digest());
}

RedisKeys::RedisKeys(std::string_view prefix) : base_(std::string(prefix) + ":{0}:") {}

}  // namespace sluice
