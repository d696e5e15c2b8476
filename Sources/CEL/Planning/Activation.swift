/// Gives variables their values when a program first reads them.
public protocol Resolver: AnyObject {
    /// The value of a slot, asked for once per event.
    ///
    /// For a path, nil makes the activation follow the fields from the variable's own value; a host with a faster way returns the
    /// value itself. For a variable, nil means that it has no value, which is an error where it is used.
    func value(of slot: Slot) -> Value?

    /// Why a variable has no value now; nil if it is simply unknown.
    func reason(for slot: Slot) -> EvaluationError?
}

extension Resolver {
    public func reason(for slot: Slot) -> EvaluationError? { nil }
}

/// The state of evaluations: the values of slots, filled on first read and kept until the next event, and the storage of macros.
///
/// A class, used by one thread at a time: its storage is reused from event to event, so that a condition allocates nothing. One
/// activation serves all programs whose environments share a ``SlotTable``.
public final class Activation {
    private let table: SlotTable
    private var failures: [Int: EvaluationError] = [:]
    private var patterns = PatternCache()

    // Closures read this storage at every step. `unchecked` saves the call into the Swift runtime that checks exclusivity at each
    // access of a class's property: 10 % of the instructions of `cel.condition` and 5 % of `route.memory`. It is safe because no
    // access is held across a call.
    @exclusivity(unchecked) private var slots: [Slot] = []
    /// The source of the variables' values for this event.
    @exclusivity(unchecked) public private(set) var resolver: (any Resolver)?
    @exclusivity(unchecked) private(set) var values: UnsafeMutablePointer<Value>
    @exclusivity(unchecked) private var stamps: UnsafeMutablePointer<UInt64>
    @exclusivity(unchecked) private var capacity = 0
    @exclusivity(unchecked) private var event: UInt64 = 1
    @exclusivity(unchecked) private var locals: UnsafeMutablePointer<Value>
    @exclusivity(unchecked) private var localCapacity = 0
    @exclusivity(unchecked) private var base = 0
    @exclusivity(unchecked) private var top = 0
    @exclusivity(unchecked) private var costLeft: Int64 = 0
    @exclusivity(unchecked) private var memoryLeft: Int64 = 0
    @exclusivity(unchecked) private var granted: Int64 = 0
    /// The total work that evaluations may still do; each subtracts its cost, and one that exceeds it fails.
    @exclusivity(unchecked) public var workLeft = Int64.max
    /// Why the last test failed.
    @exclusivity(unchecked) var failure: EvaluationError?
    @exclusivity(unchecked) var recorder: Recorder?

    /// The states of a slot, in the low bits of its stamp; the rest is the event's number.
    private enum State { static let ready: UInt64 = 1, failed: UInt64 = 2, filling: UInt64 = 3 }

    public init(_ table: SlotTable) {
        self.table = table
        values = .allocate(capacity: 0)
        stamps = .allocate(capacity: 0)
        locals = .allocate(capacity: 0)
    }

    public convenience init(_ environment: Environment, resolver: (any Resolver)? = nil) {
        self.init(environment.slots)
        if let resolver { begin(resolver) }
    }

    deinit {
        values.deinitialize(count: capacity)
        values.deallocate()
        stamps.deallocate()
        locals.deinitialize(count: localCapacity)
        locals.deallocate()
    }

    /// Forgets the last event's values and sets the resolver for the next event. Not to be called while a program runs.
    public func begin(_ resolver: (any Resolver)?) {
        self.resolver = resolver
        event += 1
        if !failures.isEmpty { failures.removeAll(keepingCapacity: true) }
    }

    /// Sets a slot's value for this event, so that the resolver is not asked.
    public func set(_ slot: Slot, to value: Value) {
        reserve(slots: slot.id + 1)
        values[slot.id] = value
        stamps[slot.id] = event << 2 | State.ready
    }

    // MARK: Slots

    /// Whether the slot's value is in ``values``.
    @inline(__always)
    func isReady(_ id: Int) -> Bool { stamps[id] == event << 2 | State.ready }

    /// Puts the slot's value into ``values``; if that fails, returns false and sets ``failure``.
    @inline(__always)
    func makeReady(_ id: Int) -> Bool { isReady(id) || fill(id) }

    /// Why the last slot was not ready, or the last test failed.
    var reason: EvaluationError { failure ?? .unknownName("?") }

    @inline(__always)
    func value(of id: Int) throws(EvaluationError) -> Value {
        guard makeReady(id) else { throw failure ?? .unknownName("?") }
        return values[id]
    }

    @inline(never)
    private func fill(_ id: Int) -> Bool {
        let stamp = stamps[id]
        if stamp == event << 2 | State.failed {
            failure = failures[id]
            return false
        }
        let slot = slots[id]
        if stamp != event << 2 | State.filling {
            stamps[id] = event << 2 | State.filling
            if slot.isOfHost, let value = resolver?.value(of: slot) {
                // Moved, not assigned: an assignment would retain a text once more.
                let place = values + id
                place.deinitialize(count: 1)
                place.initialize(to: value)
                stamps[id] = event << 2 | State.ready
                return true
            }
            do throws(EvaluationError) {
                values[id] = try find(slot)
                stamps[id] = event << 2 | State.ready
                return true
            } catch {
                failure = error
            }
        } else {
            failure = .unknownName(slot.description)
        }
        failures[id] = failure
        stamps[id] = event << 2 | State.failed
        return false
    }

    /// The value of a slot that the resolver does not provide.
    private func find(_ slot: Slot) throws(EvaluationError) -> Value {
        if let definition = slot.definition { return try definition.evaluate(self) }
        guard !slot.path.isEmpty else { throw resolver?.reason(for: slot) ?? .unknownName(slot.variable) }
        var value = try value(of: slot.root)
        for field in slot.path { value = try Fields.select(field, of: value) }
        return value
    }

    // MARK: Runs

    /// Reserves room for a program; returns the state for ``leave(_:)`` to restore.
    @inline(__always)
    func enter(_ program: Program) -> Int {
        if capacity < program.slotCount { reserve(slots: program.slotCount) }
        let before = base
        if top == 0 {
            costLeft = min(program.limits.cost, workLeft)
            granted = costLeft
            memoryLeft = program.limits.memory
        }
        base = top
        top += program.localCount + 1
        if localCapacity < top { reserveLocals() }
        return before
    }

    @inline(__always)
    func leave(_ before: Int) {
        top = base
        base = before
        if top == 0 { workLeft &-= granted &- costLeft }
    }

    private func reserve(slots count: Int) {
        guard count > capacity else { return }
        slots = table.all
        let larger = max(count, slots.count)
        let newValues = UnsafeMutablePointer<Value>.allocate(capacity: larger)
        newValues.moveInitialize(from: values, count: capacity)
        (newValues + capacity).initialize(repeating: .null, count: larger - capacity)
        values.deallocate()
        values = newValues
        let newStamps = UnsafeMutablePointer<UInt64>.allocate(capacity: larger)
        newStamps.update(from: stamps, count: capacity)
        (newStamps + capacity).initialize(repeating: 0, count: larger - capacity)
        stamps.deallocate()
        stamps = newStamps
        capacity = larger
    }

    private func reserveLocals() {
        let larger = max(16, top * 2)
        let new = UnsafeMutablePointer<Value>.allocate(capacity: larger)
        new.moveInitialize(from: locals, count: localCapacity)
        (new + localCapacity).initialize(repeating: .null, count: larger - localCapacity)
        locals.deallocate()
        locals = new
        localCapacity = larger
    }

    /// A macro's variable by its place among those of the running program.
    subscript(local place: Int) -> Value {
        @inline(__always) get { locals[base + place] }
        @inline(__always) set { locals[base + place] = newValue }
        @inline(__always) _modify { yield &locals[base + place] }
    }

    // MARK: Bounds

    /// Counts work: about one per call, element or 16 bytes of text.
    @inline(__always)
    public func spend(_ work: Int) throws(EvaluationError) {
        costLeft &-= Int64(truncatingIfNeeded: work)
        if costLeft < 0 { throw .costLimit }
    }

    /// Counts the work of reading that many bytes; if it exceeds the limit, returns false and sets ``failure``.
    @inline(__always)
    func affords(reading bytes: Int) -> Bool {
        costLeft &-= Int64(truncatingIfNeeded: bytes >> 6)
        if costLeft >= 0 { return true }
        failure = .costLimit
        return false
    }

    /// Counts work; if it exceeds the limit, returns false and sets ``failure``.
    @inline(__always)
    func affords(_ work: Int) -> Bool { affords(reading: work << 6) }

    /// The work of a failure, counted even if the failure is then ignored: its message was made.
    static let failureWork = 24

    /// Counts memory that a new value takes, and the work of writing it.
    public func spend(bytes: Int) throws(EvaluationError) {
        memoryLeft &-= Int64(truncatingIfNeeded: bytes)
        if memoryLeft < 0 { throw .memoryLimit }
        try spend(bytes >> 4 + 1)
    }

    /// Counts the memory of a new list or map.
    public func spend(elements: Int) throws(EvaluationError) {
        let (bytes, overflow) = elements.multipliedReportingOverflow(by: MemoryLayout<Value>.stride)
        if overflow { throw .memoryLimit }
        try spend(bytes: bytes)
    }

    /// A new container value, unless it is nested too deeply or, with shared parts counted each time they occur, too large.
    @inline(__always)
    func bounded(_ value: Value) throws(EvaluationError) -> Value {
        if value.depth > Self.deepest { throw .tooNested }
        if value.weight > Self.heaviest { throw .memoryLimit }
        return value
    }

    private static let deepest = 100
    private static let heaviest = 16 << 20

    /// A compiled regular expression, kept for the next time.
    func pattern(_ text: String) throws(EvaluationError) -> Pattern {
        if let known = patterns[text] { return known }
        // An invalid pattern may be read to its end and is not kept, so it costs the same each time.
        try spend(Pattern.refusedWork)
        let pattern = try Pattern(text)
        try spend(pattern.work - Pattern.refusedWork)
        patterns.add(pattern, for: text)
        return pattern
    }

    /// Makes a test fail with an error, which gets this range unless it has its own.
    func fail(_ error: EvaluationError, at range: Range<Int>) -> Truth {
        failure = error.at(range)
        return .failed
    }
}
