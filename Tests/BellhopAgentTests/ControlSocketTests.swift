import BellhopAgent
import Testing

@Suite struct ControlSocketTests {
    @Test func `the socket lies beside the store`() {
        #expect(ControlSocket.path(store: "/var/lib/bellhop/bellhop.db", environment: [:]) == "/var/lib/bellhop/bellhop.db.sock")
    }

    @Test func `a store whose path is too long for a socket has it in the run-time folder, each its own`() {
        let deep = "/" + String(repeating: "deeper/", count: 20)
        let one = ControlSocket.path(store: deep + "one.db", environment: ["XDG_RUNTIME_DIR": "/run/user/1000"])
        let two = ControlSocket.path(store: deep + "two.db", environment: ["XDG_RUNTIME_DIR": "/run/user/1000"])
        #expect(one.hasPrefix("/run/user/1000/bellhop-") && one.hasSuffix(".sock"))
        #expect(one.utf8.count < 108)
        #expect(one != two)
        #expect(one == ControlSocket.path(store: deep + "one.db", environment: ["XDG_RUNTIME_DIR": "/run/user/1000"]))
        #expect(ControlSocket.path(store: deep + "one.db", environment: [:]).hasPrefix("/tmp/bellhop-"))
    }
}
