import Glibc

/// The expressions, written in Swift.
enum ByHand {
    /// The condition as a programmer would write it.
    @inline(never)
    static func matches(_ event: ExpressionMaterial.Event) -> Bool {
        event.type == "task_created" && event.task.priority <= 2 && event.task.title.contains("disk")
    }

    @inline(never)
    static func count(_ events: [ExpressionMaterial.Event]) -> Int {
        var found = 0
        for event in events where matches(event) { found += 1 }
        return found
    }

    /// The condition optimised by hand: texts are bytes.
    @inline(never)
    static func matchesBytes(_ event: ExpressionMaterial.Event) -> Bool {
        isSame(event.type, "task_created") && event.task.priority <= 2 && contains(event.task.title, "disk")
    }

    @inline(never)
    static func countBytes(_ events: [ExpressionMaterial.Event]) -> Int {
        var found = 0
        for event in events where matchesBytes(event) { found += 1 }
        return found
    }

    private static func isSame(_ text: String, _ other: StaticString) -> Bool {
        let bytes = text.utf8.withContiguousStorageIfAvailable { bytes in
            bytes.count == other.utf8CodeUnitCount && memcmp(bytes.baseAddress!, other.utf8Start, bytes.count) == 0
        }
        return bytes ?? false
    }

    private static func contains(_ text: String, _ needle: StaticString) -> Bool {
        let found = text.utf8.withContiguousStorageIfAvailable { bytes in
            var rest = UnsafeRawBufferPointer(bytes)
            let length = needle.utf8CodeUnitCount
            // Skip to the next possible beginning.
            while rest.count >= length, let place = memchr(rest.baseAddress!, Int32(needle.utf8Start[0]), rest.count - length + 1)
            {
                if memcmp(place, needle.utf8Start, length) == 0 { return true }
                rest = UnsafeRawBufferPointer(rebasing: rest[(rest.baseAddress!.distance(to: place) + 1)...])
            }
            return false
        }
        return found ?? false
    }

    @inline(never)
    static func digest(_ events: [ExpressionMaterial.Event]) -> String {
        events.lazy.map(\.task).filter { $0.priority <= 2 }.map { $0.number + ": " + $0.title }.joined(separator: ", ")
    }
}
