# Wrong variants of queue_rabbitmq.
function(wrong_rabbit name)
  cmake_parse_arguments(PARSE_ARGV 1 ARG "" "IN;CAUGHT_BY;FROM;TO" "")
  sluice_planted(NAME rabbit_${name} IN "plugins/queue_rabbitmq/${ARG_IN}" BASE integration_queue_rabbitmq_contract
    CAUGHT_BY ${ARG_CAUGHT_BY} FROM "${ARG_FROM}" TO "${ARG_TO}")
endfunction()

wrong_rabbit(returned_is_fine IN publisher.cpp CAUGHT_BY Q43
  FROM [=[    ++job.returned;]=] TO [=[    ;]=])
wrong_rabbit(refused_is_fine IN publisher.cpp CAUGHT_BY Q43
  FROM [=[    ++job.refused;]=] TO [=[    ;]=])
wrong_rabbit(one_confirm_for_all_before IN publisher.cpp CAUGHT_BY Q43
  FROM [=[one = multiple ? firstOpen_ : tag; one <= tag]=] TO [=[one = firstOpen_; one <= tag]=])
wrong_rabbit(one_confirm_of_many IN publisher.cpp CAUGHT_BY Q43
  FROM [=[one = multiple ? firstOpen_ : tag; one <= tag]=] TO [=[one = tag; one <= tag]=])
wrong_rabbit(counts_on_after_the_loss IN publisher.cpp CAUGHT_BY Q43
  FROM [=[    if (open.job) open.job->lost = true;]=] TO [=[    if (open.job) open.job->settled = open.job->messages.size();]=])
wrong_rabbit(acknowledged_before_it_is_elsewhere IN slot.cpp CAUGHT_BY Q44
  FROM [=[  if (auto published = publisher_.publish(std::move(retries), deadline); !published) return published;]=]
  TO [=[  (void)publisher_.publish(std::move(retries), deadline);]=])
wrong_rabbit(old_connections_still_hold IN slot.cpp CAUGHT_BY Q41
  FROM [=[return entry.second.ticket.epoch != now;]=] TO [=[return entry.second.ticket.epoch > now;]=])
wrong_rabbit(no_lease IN slot.cpp CAUGHT_BY Q22
  FROM [=[  return !held_.empty() && held_.begin()->second.since <= steady_clock::now() - lease;]=]
  TO [=[  return lease < milliseconds(0);]=])
wrong_rabbit(suspects_among_others IN intake.cpp CAUGHT_BY Q27
  FROM [=[bool isSuspect(std::int64_t deliveries) { return deliveries >= limits::kIsolateFromDelivery; }]=]
  TO [=[bool isSuspect(std::int64_t deliveries) { return deliveries < 0; }]=])
wrong_rabbit(returns_not_counted IN intake.cpp CAUGHT_BY Q32
  FROM [=[(mustHop(message) ? 0 : message.returned)]=] TO [=[0]=])
wrong_rabbit(delay_ignored IN intake.cpp CAUGHT_BY Q24
  FROM [=[  const milliseconds wait = std::clamp(delay, milliseconds(0), kDelayMax);]=] TO [=[  const milliseconds wait = std::min(delay, milliseconds(0));]=])
wrong_rabbit(delay_of_one_step IN intake.cpp CAUGHT_BY Q24
  FROM [=[  out.message.waitMs = (wait - kWaitSteps[step]).count();]=] TO [=[  out.message.waitMs = 0;]=])
wrong_rabbit(garbage_dropped IN intake.cpp CAUGHT_BY Q28
  FROM [=[  if (desk_.bury(std::move(letters), enough)) {]=] TO [=[  if (!letters.empty()) {]=])
wrong_rabbit(dead_letters_without_bound IN dead_desk.cpp CAUGHT_BY Q31
  FROM [=[  if (there.value()[0] + static_cast<std::int64_t>(count) > shared_.settings.deadMax) {]=] TO [=[  if (there.value()[0] < 0) {]=])
wrong_rabbit(replayed_and_kept IN dead_desk.cpp CAUGHT_BY Q31
  FROM [=[    return visit.remove(tag);
  });
}

Status DeadDesk::remove(]=] TO [=[    return Status();
  });
}

Status DeadDesk::remove(]=])
wrong_rabbit(journal_forgotten IN message.cpp CAUGHT_BY Q51
  FROM [=[          .journal = message.journal,
]=] TO [=[]=])
wrong_rabbit(nothing_handed_back IN slot.cpp CAUGHT_BY Q46
  FROM [=[  if (auto back = receiver_.settle(tickets, Receiver::Verdict::HandBack, deadline); !back)
    return back.error();
  return tickets.size();]=] TO [=[  return tickets.size();]=])
wrong_rabbit(no_bound IN rabbit_queue.cpp CAUGHT_BY Q44
  FROM [=[  if (filled_ + more > shared_.settings.capacity)]=] TO [=[  if (filled_ < 0)]=])
wrong_rabbit(every_connection_is_a_loss IN topology.cpp CAUGHT_BY Q41
  FROM [=[  if (shared.topologySeen && !declaring.created().empty()) {]=] TO [=[  if (shared.topologySeen) {]=])
