import BellhopCore
import Testing

@Suite struct `Audit chain` {
    /// A chain of eight rows after its beginning.
    private static func chain() -> [AuditRow] {
        var rows = [AuditRow(number: 0, at: Timestamp(microseconds: 0), entry: "", hash: AuditRow.start)]
        for number in Int64(1)...8 {
            let at = Timestamp(microseconds: number * 1_000_000)
            rows.append(next(after: rows.last!, at: at, #"{"time":"\#(at.rfc3339)","kind":"attempt","to":"ops\#(number)"}"#))
        }
        return rows
    }

    private static func next(after last: AuditRow, at: Timestamp, _ entry: String) -> AuditRow {
        let hash = AuditRow.hash(after: last.hash, number: last.number + 1, entry: entry)
        return AuditRow(number: last.number + 1, at: at, entry: entry, hash: hash)
    }

    /// The rows after the fifth, with the row that explains why the others are gone.
    private static func pruned(hash: String? = nil) -> [AuditRow] {
        var rows = Array(chain()[5...])
        rows[0].entry = ""
        let at = Timestamp(microseconds: 9_000_000)
        rows.append(
            next(
                after: rows.last!, at: at,
                #"{"time":"\#(at.rfc3339)","act":"prune","through":5,"hash":"\#(hash ?? rows[0].hash)"}"#))
        return rows
    }

    private static func problem(of rows: [AuditRow], against checkpoint: AuditCheckpoint? = nil) -> String? {
        var verifier = AuditVerifier(against: checkpoint)
        do throws(AuditVerifier.Problem) {
            for row in rows { try verifier.check(row) }
            try verifier.end()
            return nil
        } catch { return error.message }
    }

    @Test func `an unchanged chain verifies, also after its oldest rows were pruned`() {
        #expect(Self.problem(of: Self.chain()) == nil)
        #expect(Self.problem(of: Self.pruned()) == nil)
        #expect(Self.problem(of: Self.chain(), against: AuditCheckpoint(Self.chain()[3])) == nil)
    }

    @Test(arguments: 1...8) func `a changed, moved or removed row is detected`(_ place: Int) {
        let chain = Self.chain()
        let checkpoint = AuditCheckpoint(chain[8])
        var changed = chain
        changed[place].entry = changed[place].entry.replacing("ops", with: "hook")
        #expect(Self.problem(of: changed) != nil)
        var dated = chain
        dated[place].at = dated[place].at + .seconds(1)
        #expect(Self.problem(of: dated) != nil)
        var removed = chain
        removed.remove(at: place)
        #expect(Self.problem(of: removed, against: checkpoint) != nil)
        // A person who renumbers the rows cannot compute the same hash.
        var closed = removed
        for index in closed.indices { closed[index].number = Int64(index) }
        #expect(Self.problem(of: closed, against: checkpoint) != nil)
        guard place < 8 else { return }
        var moved = chain
        moved.swapAt(place, place + 1)
        #expect(Self.problem(of: moved) != nil)
        (moved[place].number, moved[place + 1].number) = (chain[place].number, chain[place + 1].number)
        #expect(Self.problem(of: moved) != nil)
    }

    @Test func `a checkpoint detects removed last rows and recomputed hashes`() {
        let chain = Self.chain()
        #expect(Self.problem(of: chain.dropLast(2)) == nil)
        #expect(Self.problem(of: chain.dropLast(2), against: AuditCheckpoint(chain[8]))?.hasPrefix("The last rows") == true)
        // All hashes after a changed row are recomputed.
        var forged = Array(chain.prefix(4))
        for row in chain[4...] {
            forged.append(Self.next(after: forged.last!, at: row.at, row.entry.replacing("ops4", with: "x")))
        }
        #expect(Self.problem(of: forged) == nil)
        #expect(Self.problem(of: forged, against: AuditCheckpoint(chain[6])) != nil)
    }

    @Test func `the removal of the first rows is detected unless the chain records that they were pruned`() {
        #expect(Self.problem(of: Array(Self.chain()[3...])) != nil)
        var anchored = Array(Self.chain()[3...])
        anchored[0].entry = ""
        #expect(Self.problem(of: anchored)?.contains("not because of their age") == true)
        #expect(Self.problem(of: Self.pruned(hash: AuditRow.start)) != nil)
        #expect(Self.problem(of: Array(Self.pruned().dropFirst())) != nil)
        #expect(Self.problem(of: []) != nil)
    }

    @Test func `a checkpoint of a pruned row is refused as too old`() {
        #expect(Self.problem(of: Self.pruned(), against: AuditCheckpoint(Self.chain()[2]))?.contains("too old") == true)
        #expect(Self.problem(of: Self.pruned(), against: AuditCheckpoint(Self.chain()[5])) == nil)
    }

    @Test func `a checkpoint is equal after printing and reading`() {
        let checkpoint = AuditCheckpoint(Self.chain()[7])
        #expect(AuditCheckpoint(checkpoint.text) == checkpoint)
        for text in ["", "7", "7:abc", "x:\(AuditRow.start)", "-1:\(AuditRow.start)", "7:\(AuditRow.start):"] {
            #expect(AuditCheckpoint(text) == nil, "\(text)")
        }
    }

    /// `printf '%s\n%s\n%s' 00…00 1 '{"a":1}' | sha256sum`
    @Test func `the hash can be computed with other tools`() {
        #expect(
            AuditRow.hash(after: AuditRow.start, number: 1, entry: #"{"a":1}"#)
                == "58a8b64ede0a31c39c4c0afb728c913a6b777e6ee987ceea8e4264a089470621")
    }
}
