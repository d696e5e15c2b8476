import BellhopCore
import Testing

@Suite struct SnapshotTextTests {
    private let snapshot = Snapshot(
        key: "0123456789abcdef0123456789abcdef", number: "INC1", title: "\"Printer\"\non\u{2028}fire für 😀", type: "Störung",
        className: "incident", url: "https://acme.example/x?y=1",
        fields: ["priority": 1, "ratio": 1.0, "active": true, "due": .null, "note": ""], labels: ["priority": "1 - Critical"])

    @Test func `a snapshot is equal after writing and reading`() throws {
        let text = SnapshotText(snapshot)
        #expect(text.key == snapshot.key)
        #expect(text.isRead)
        #expect(text.snapshot == snapshot)
        let written = try #require(try JSON.parse(text.bytes).asObject)
        #expect(written.keys == ["id", "number", "title", "type", "class", "url", "labels", "fields"])
        #expect(
            snapshot.json(source: "s").asObject?.keys == [
                "id", "number", "title", "type", "class", "url", "source", "labels", "fields",
            ])
    }

    @Test func `a snapshot without a class counts as one that could not be read`() {
        #expect(!SnapshotText(Snapshot(key: "x", title: "listed")).isRead)
    }

    @Test func `a snapshot can have an empty key and nothing else`() {
        #expect(SnapshotText(Snapshot(key: "")).snapshot == Snapshot(key: ""))
    }

    @Test func `a text is completed by the stored values of what was not read, except redefined fields`() {
        var read = snapshot
        (read.number, read.title) = ("", "new")
        for name in ["priority", "ratio", "due"] { read.fields[name] = .null }
        read.labels = [:]
        let unread = [Change.number, "priority", "ratio", "absent"]
        var expected = snapshot
        expected.title = "new"
        expected.fields["ratio"] = .null
        #expect(SnapshotText(read, unread: unread).completed(by: snapshot, except: ["ratio"]) == SnapshotText(expected))
    }

    @Test func `every member of a snapshot changes its fingerprint`() {
        var others = [Snapshot](repeating: snapshot, count: 8)
        others[0].number = "INC2"
        others[1].title = "Printer"
        others[2].type = "Incident"
        others[3].className = "problem"
        others[4].url = ""
        others[5].fields["ratio"] = 1
        others[6].labels = [:]
        others[7].key = "x"
        let fingerprints = ([snapshot] + others).map { SnapshotText($0).fingerprint }
        #expect(Set(fingerprints).count == 9)
        #expect(SnapshotText(snapshot).fingerprint == fingerprints[0])
    }

    @Test func `snapshots can be found by key`() {
        var snapshots = Snapshots()
        #expect(snapshots.isEmpty)
        snapshots[snapshot.key] = snapshot
        snapshots["b"] = Snapshot(key: "b")
        snapshots.add(SnapshotText(Snapshot(key: "a", title: "before")))
        snapshots.add(SnapshotText(Snapshot(key: "a", title: "A")))
        snapshots["b"] = nil
        snapshots["absent"] = nil
        #expect(snapshots.count == 2)
        #expect(snapshots.keys == [snapshot.key, "a"])
        #expect(snapshots.text(of: "a") == SnapshotText(Snapshot(key: "a", title: "A")))
        #expect(snapshots["a"]?.title == "A")
        #expect(snapshots["b"] == nil)
        #expect(snapshots.values.map(\.key) == [snapshot.key, "a"])
    }
}
