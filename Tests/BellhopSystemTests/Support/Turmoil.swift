import BellhopCore
import Simulator

/// Random changes on an instance: tasks appear, change, leave and return, one at a time.
struct Turmoil {
    private let instance: SimulatedInstance
    private var random: SeededRandom
    private var count = 0
    /// Tasks that were assigned to another user and may return.
    private var away: [String] = []

    init(_ instance: SimulatedInstance, seed: UInt64) {
        self.instance = instance
        random = SeededRandom(seed: seed)
    }

    /// Makes one random change. Every title is new, so that no two changes are equal.
    mutating func happen() {
        count += 1
        let own = instance.tasks.filter { $0.isActive && $0.table != "problem" && !away.contains($0.id) }
        guard own.count > 2, let task = own.randomElement(using: &random) else { return arrive() }
        switch Int.random(in: 0...9, using: &random) {
        case 0...2: arrive()
        case 3...4:
            instance.updateTask(
                task.id, set: ["priority": "\(Int.random(in: 1...4, using: &random))", "short_description": title])
        case 5...6: instance.updateTask(task.id, set: ["short_description": title])
        case 7: instance.closeTask(task.id)
        case 8 where !away.isEmpty: instance.assign(away.removeFirst(), to: Stage.user)
        case 8:
            instance.assign(task.id, to: nil)
            away.append(task.id)
        default: instance.touchTask(task.id)
        }
    }

    private var title: String { "Number \(count)" }

    private func arrive() {
        let table = count % 4 == 0 ? "change_request" : "incident"
        instance.addTask(table, title: title, assignedTo: Stage.user)
    }
}
