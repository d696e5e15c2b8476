extension Standard {
    static func times(_ zones: TimeZones) -> [Function] {
        [
            part(zones, "getFullYear") { civil, _ in civil.year },
            part(zones, "getMonth") { civil, _ in civil.month - 1 },
            part(zones, "getDate") { civil, _ in civil.day },
            part(zones, "getDayOfMonth") { civil, _ in civil.day - 1 },
            part(zones, "getDayOfWeek") { civil, _ in civil.weekday },
            part(zones, "getDayOfYear") { civil, _ in civil.dayOfYear },
            part(zones, "getHours", ofDuration: { $0 / 3_600_000_000_000 }) { civil, _ in civil.hour },
            part(zones, "getMinutes", ofDuration: { $0 / 60_000_000_000 }) { civil, _ in civil.minute },
            part(zones, "getSeconds", ofDuration: { $0 / 1_000_000_000 }) { civil, _ in civil.second },
            part(zones, "getMilliseconds", ofDuration: { $0 / 1_000_000 % 1000 }) { _, nanoseconds in
                Int64(nanoseconds) / 1_000_000
            },
        ]
    }

    /// A function for a part of a moment, in UTC or in a zone; for durations that support it, the whole in that unit, except
    /// milliseconds, which are those of the last second (cel-spec, langdef, list of standard definitions).
    private static func part(
        _ zones: TimeZones, _ name: String, ofDuration: (@Sendable (Int64) -> Int64)? = nil,
        _ part: @escaping @Sendable (CivilTime, Int32) -> Int64
    ) -> Function {
        var overloads: [Overload] = [
            .pure(member: true, .timestamp, .int) { _, time throws(EvaluationError) in
                guard case .timestamp(let time) = time else { throw .noOverload(name, [time]) }
                return .int(part(CivilTime(seconds: time.seconds), time.nanoseconds))
            },
            .pure(member: true, .timestamp, .string, .int, check: zones.check()) { _, time, zone throws(EvaluationError) in
                guard case .timestamp(let time) = time, case .string(let zone) = zone else {
                    throw .noOverload(name, [time, zone])
                }
                let offset = try zones.zone(zone).offset(time.seconds)
                return .int(part(CivilTime(seconds: time.seconds, offset: offset), time.nanoseconds))
            },
        ]
        if let ofDuration {
            overloads.append(
                .pure(member: true, .duration, .int) { _, span throws(EvaluationError) in
                    guard case .duration(let span) = span, let nanoseconds = span.nanosecondsExactly else {
                        throw .durationOutOfRange
                    }
                    return .int(ofDuration(nanoseconds))
                })
        }
        return Function(name, overloads: overloads)
    }
}
