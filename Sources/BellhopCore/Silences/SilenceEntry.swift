/// An entry under `silences` in bellhop.yaml: one silence, or one at each time of a schedule.
public struct SilenceEntry: Sendable {
    public enum Times: Sendable {
        case once(starts: Timestamp, ends: Timestamp)
        case recurring(CronSchedule, TimeZoneTable, zone: String, lasting: Duration)
    }

    /// The silence without its times.
    private let template: Silence
    public let times: Times
    /// The place in the file of a part of its condition.
    public let placeInCondition: Diagnostic.Place.InText?
    /// The place of the entry in the file.
    public let place: Diagnostic.Place?

    public init(
        _ template: Silence, times: Times, place: Diagnostic.Place? = nil, placeInCondition: Diagnostic.Place.InText? = nil
    ) {
        self.times = times
        self.place = place
        self.placeInCondition = placeInCondition
        var template = template
        let when: [String] =
            switch times {
            case .once(let starts, let ends): [String(starts.microseconds), String(ends.microseconds)]
            case .recurring(let schedule, _, let zone, let span): [schedule.text, zone, String(span.wholeMicroseconds)]
            }
        let facts = [template.when ?? "", template.reason, String(template.writes), "rules"] + template.rules
        template.entry = Identity.of(["silence entry"] + when + facts + ["receivers"] + template.receivers)
        self.template = template
    }

    public var when: String? { template.when }
    public var rules: [String] { template.rules }

    /// A hash of its content, which distinguishes it from all other entries. It differs for a changed entry.
    public var identity: String { template.entry ?? "" }

    /// The silence that is active, if any, and the next one.
    public func silences(at now: Timestamp) -> [Silence] {
        switch times {
        case .once(let starts, let ends): return ends > now ? [silence(from: starts, to: ends)] : []
        case .recurring(let schedule, let zone, _, let span):
            guard let first = schedule.next(after: now - span, in: zone) else { return [] }
            var found = [silence(from: first, to: first + span)]
            if first <= now, let next = schedule.next(after: now, in: zone) {
                found.append(silence(from: next, to: next + span))
            }
            return found
        }
    }

    private func silence(from starts: Timestamp, to ends: Timestamp) -> Silence {
        var silence = template
        (silence.starts, silence.ends) = (starts, ends)
        return silence.identified
    }
}
