import Synchronization

/// What is in flight, per receiver.
///
/// A class over a mutex, because the attempts end in tasks of their own.
final class Flight: Sendable {
    private let counts = Mutex<[String: Int]>([:])
    private let sum = Atomic(0)

    var total: Int { sum.load(ordering: .relaxed) }

    func receivers(with limit: Int) -> Set<String> {
        counts.withLock { counts in Set(counts.lazy.filter { $0.value >= limit }.map(\.key)) }
    }

    func begin(_ receiver: String) {
        counts.withLock { $0[receiver, default: 0] += 1 }
        sum.add(1, ordering: .relaxed)
    }

    func end(_ receiver: String) {
        counts.withLock { counts in
            guard let count = counts[receiver] else { return }
            counts[receiver] = count > 1 ? count - 1 : nil
        }
        sum.subtract(1, ordering: .relaxed)
    }
}
