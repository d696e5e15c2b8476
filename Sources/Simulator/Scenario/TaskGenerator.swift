import BellhopCore

/// Generates tasks and their histories from a seed.
struct TaskGenerator: Sendable {
    private let user: String
    private let people: [String]
    private let tasksPerHour: Double
    private let keepsOfficeHours: Bool
    private(set) var nextArrival: Int64
    private var random: SeededRandom

    init(user: String, people: [String], start: Int64, tasksPerHour: Double, seed: UInt64, keepsOfficeHours: Bool = true) {
        self.user = user
        self.keepsOfficeHours = keepsOfficeHours
        self.people = people
        self.tasksPerHour = tasksPerHour
        random = SeededRandom(seed: seed)
        nextArrival = start
        nextArrival += gap()
    }

    /// The tasks that arrive up to that time, with everything that happens to them later.
    mutating func arrivals(upTo time: Int64) -> [Scenario.Due] {
        var due: [Scenario.Due] = []
        while nextArrival <= time {
            due += task(at: nextArrival)
            nextArrival += gap()
        }
        return due
    }

    /// Waiting times are exponential, longer at night and on days off.
    private mutating func gap() -> Int64 {
        let at = CivilTime.utc(nextArrival)
        let isBusy = !keepsOfficeHours || at.weekday != .saturday && at.weekday != .sunday && (7..<18).contains(at.hour)
        let hours = -logarithm(Double.random(in: 0.0001..<1, using: &random)) / (tasksPerHour * (isBusy ? 1 : 0.1))
        return max(CivilTime.second, Int64(min(hours, 4) * Double(CivilTime.hour)))
    }

    /// The natural logarithm by halving and a series, so that the result does not depend on the platform's library.
    private func logarithm(_ value: Double) -> Double {
        let mantissa = value.significand
        let ratio = (mantissa - 1) / (mantissa + 1)
        var sum = 0.0
        var power = ratio
        for step in 0..<20 {
            sum += power / Double(2 * step + 1)
            power *= ratio * ratio
        }
        return 2 * sum + Double(value.exponent) * 0.693_147_180_559_945_3
    }

    private mutating func task(at time: Int64) -> [Scenario.Due] {
        let kind = SampleTexts.kinds[Int.random(in: 0..<SampleTexts.kinds.count, using: &random)]
        let id = random.hex()
        let caller = pick(people)
        let title = pick(kind.titles).replacing("{who}", with: pick(SampleTexts.firstNames)).replacing(
            "{room}", with: pick(SampleTexts.rooms))
        let isMine = chance(0.5)
        let comesUnassigned = chance(0.3)
        let owner = isMine ? user : pick(people)
        let task = NewTask(
            kind.table, title: title, priority: priority(), assignedTo: comesUnassigned ? nil : owner, openedBy: caller, sysID: id
        )
        var due = [Scenario.Due(at: time, .opened(task))]
        var at = time
        if comesUnassigned {
            at += minutes(2, 30)
            due.append(.init(at: at, .assigned(task: id, to: owner, by: pick(people))))
        }
        if chance(0.15) {
            at += minutes(3, 60)
            due.append(.init(at: at, .changed(task: id, set: ["priority": String(priority())], by: pick(people))))
        }
        if chance(0.4) {
            at += minutes(5, 90)
            due.append(.init(at: at, .noted(task: id, text: pick(SampleTexts.comments), kind: .comments, by: caller)))
        }
        if chance(0.1) {
            at += minutes(5, 60)
            due.append(.init(at: at, .assigned(task: id, to: pick(people), by: owner)))
        }
        at += minutes(20, 480)
        due.append(.init(at: at, .closed(task: id, by: owner)))
        return due
    }

    private mutating func priority() -> Int { [1, 2, 2, 3, 3, 3, 3, 4, 4, 5][Int.random(in: 0..<10, using: &random)] }
    private mutating func chance(_ probability: Double) -> Bool { Double.random(in: 0..<1, using: &random) < probability }
    private mutating func pick(_ choices: [String]) -> String { choices[Int.random(in: 0..<choices.count, using: &random)] }

    private mutating func minutes(_ least: Int64, _ most: Int64) -> Int64 {
        Int64.random(in: least * CivilTime.minute...most * CivilTime.minute, using: &random)
    }
}
