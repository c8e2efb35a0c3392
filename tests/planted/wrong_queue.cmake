# Wrong variants of queue_stream and queue_inproc.
function(wrong_stream name)
  cmake_parse_arguments(PARSE_ARGV 1 ARG "" "IN;CAUGHT_BY;FROM;TO" "")
  sluice_planted(NAME stream_${name} IN "plugins/queue_stream/${ARG_IN}" BASE integration_queue_stream_contract
    CAUGHT_BY ${ARG_CAUGHT_BY} FROM "${ARG_FROM}" TO "${ARG_TO}")
endfunction()

wrong_stream(group_from_now IN scripts.cpp CAUGHT_BY Q08
  FROM [=['XGROUP', 'CREATE', journal, group, '0', 'MKSTREAM']=] TO [=['XGROUP', 'CREATE', journal, group, '$', 'MKSTREAM']=])
wrong_stream(ack_before_the_store IN consumer.cpp CAUGHT_BY Q32
  FROM [=[  args.insert(args.end(), {"STREAMS", shared_.keys.journal, ">"});]=]
  TO [=[  args.insert(args.end(), {"NOACK", "STREAMS", shared_.keys.journal, ">"});]=])
wrong_stream(acked_but_kept IN scripts.cpp CAUGHT_BY Q18
  FROM [=[  redis.call('XDEL', journal, unpack(done))
]=] TO [=[]=])
wrong_stream(any_delivery_settles IN scripts.cpp CAUGHT_BY Q20
  FROM [=[if deliveries[id] and deliveries[id] == tonumber(ARGV[at + 1]) then]=] TO [=[if deliveries[id] then]=])
wrong_stream(any_owner_settles IN scripts.cpp CAUGHT_BY Q22
  FROM [=[  local page = ask('XPENDING', journal, group, ARGV[3], ARGV[4], count + 64, me)]=]
  TO [=[  local page = ask('XPENDING', journal, group, ARGV[3], ARGV[4], count + 64)
  for k = first, #ARGV, stride do
    for _, entry in ipairs(page) do if entry[1] == ARGV[k] then ARGV[k + 1] = tostring(entry[4]) end end
  end]=])
wrong_stream(trimmed_by_maxlen IN scripts.cpp CAUGHT_BY Q17
  FROM [=[redis.call('XADD', KEYS[1], '*', 'o', ARGV[k])]=] TO [=[redis.call('XADD', KEYS[1], 'MAXLEN', '10000', '*', 'o', ARGV[k])]=])
wrong_stream(failed_means_dropped IN scripts.cpp CAUGHT_BY Q29
  FROM [=[    redis.call('XADD', dead, '*', 'bytes']=] TO [=[    if false then redis.call('PING') end
    local unused = ('XADD' == dead) and ('*' .. 'bytes']=])
wrong_stream(dead_letters_trimmed IN scripts.cpp CAUGHT_BY Q31
  FROM [=[if #found > 0 and redis.call('XLEN', dead) + #found > tonumber(ARGV[5]) then return {'full'} end]=]
  TO [=[redis.call('XTRIM', dead, 'MAXLEN', ARGV[5] - #found)]=])
wrong_stream(garbage_ignored IN consumer.cpp CAUGHT_BY Q28
  FROM [=[    if (!batch.garbage.empty()) buryGarbage(batch, graced(deadline));
]=] TO [=[]=])
wrong_stream(own_pending_forgotten IN consumer.cpp CAUGHT_BY Q35
  FROM [=[  recovering_ = true;]=] TO [=[  recovering_ = false;]=])
wrong_stream(the_dead_keep_theirs IN consumer.cpp CAUGHT_BY Q32
  FROM [=[shared_.takeOverIsDue() ? "1" : "0"]=] TO [=["0"]=])
wrong_stream(lease_of_nothing IN scripts.cpp CAUGHT_BY Q34
  FROM [=[takeOver(is.name, lease)]=] TO [=[takeOver(is.name, 0)]=])
wrong_stream(poison_among_others IN scripts.cpp CAUGHT_BY Q27
  FROM [=[if alone or #ids >= max or (count >= isolateFrom and #ids > 0) then return false end]=]
  TO [=[if #ids >= max then return false end]=])
wrong_stream(an_absent_store_is_a_failure IN scripts.cpp CAUGHT_BY Q26
  FROM [=[if ARGV[entry[1] + 3] == '1' then]=] TO [=[if true then]=])
wrong_stream(delay_ignored IN scripts.cpp CAUGHT_BY Q24
  FROM [=[t + tonumber(ARGV[entry[1] + 2])]=] TO [=[t]=])
wrong_stream(nothing_handed_back IN scripts.cpp CAUGHT_BY Q46
  FROM [=[  redis.call('XCLAIM', journal, group, later, 0, unpack(args))
end
return {'ok', #page}]=] TO [=[end
return {'ok', #page}]=])
wrong_stream(owner_retired IN scripts.cpp CAUGHT_BY Q36
  FROM [=[    elseif is.pending > 0 then]=] TO [=[    elseif is.name ~= me then
      redis.call('XGROUP', 'DELCONSUMER', journal, group, is.name)
    elseif is.pending > 0 then]=])
wrong_stream(replayed_and_kept IN scripts.cpp CAUGHT_BY Q31
  FROM [=[redis.call('XDEL', dead, ARGV[1])
]=] TO [=[]=])
wrong_stream(no_bound IN scripts.cpp CAUGHT_BY Q44
  FROM [=[if max >= 0 and redis.call('XLEN', KEYS[1]) + tonumber(ARGV[2]) > max then return {'full'} end]=] TO [=[]=])
wrong_stream(strangers_welcome IN scripts.cpp CAUGHT_BY Q07
  FROM [=[if found ~= 'none' and found ~= kind then return {'strange', KEYS[k], found, kind} end]=] TO [=[]=])
wrong_stream(buried_and_kept IN scripts.cpp CAUGHT_BY Q30
  FROM [=[  redis.call('XACK', journal, group, entry[2])
  redis.call('XDEL', journal, entry[2])]=] TO [=[  redis.call('XACK', journal, group, entry[2])]=])
wrong_stream(every_start_is_a_loss IN shared.cpp CAUGHT_BY Q41
  FROM [=[if (groupSeen_.exchange(true) && created) {]=] TO [=[if (created) {]=])

function(wrong_inproc name)
  cmake_parse_arguments(PARSE_ARGV 1 ARG "" "CAUGHT_BY;FROM;TO" "")
  sluice_planted(NAME inproc_${name} IN plugins/queue_inproc/inproc_queue.cpp BASE unit_queue_inproc
    CAUGHT_BY ${ARG_CAUGHT_BY} FROM "${ARG_FROM}" TO "${ARG_TO}")
endfunction()

wrong_inproc(newest_first CAUGHT_BY Q13 FROM [=[  fresh_.push_back({]=] TO [=[  fresh_.push_front({]=])
wrong_inproc(any_token_settles CAUGHT_BY Q20
  FROM [=[ &&
                    found->second.message.deliveries == token.epoch && token.b == 0;]=] TO [=[;]=])
wrong_inproc(close_leaves_them_waiting CAUGHT_BY Q45
  FROM [=[    lost = countLost();
  }
  changed_.notify_all();]=] TO [=[    lost = countLost();
  }]=])
wrong_inproc(no_bound CAUGHT_BY Q44
  FROM [=[std::min(wanted, settings_.capacity - std::min(settings_.capacity, used()))]=] TO [=[wanted]=])
